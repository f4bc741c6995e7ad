//! Gets what a registry stands for, by a process of its own: what a registry sends may fill up that one and no other.

use std::process::Stdio;
use std::time::Duration;

use portcullis_config::UpdateSection;
use portcullis_model::json::{Value, parse};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::Updates;
use crate::Exit;
use crate::failure::one_line;

/// Longer than every wait of the process itself, taken together.
const LONGEST: Duration = Duration::from_mins(15);

/// What the process prints is one line of a few hundred bytes; what it complains of is not much longer.
const MOST_PRINTED: u64 = 64 * 1024;

/// Nothing came of a look.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// The policies folder cannot be written to.
    #[error("the policies folder cannot be written to")]
    Folder(#[source] std::io::Error),
    /// The process could not be started or heard.
    #[error("the process that fetches failed")]
    Process(#[source] std::io::Error),
    /// It did not end.
    #[error("the process that fetches did not end within {} minutes", LONGEST.as_secs() / 60)]
    Endless,
    /// It said why it could not.
    #[error("{0}")]
    Said(String),
    /// Nobody who is trusted vouches for what it got.
    #[error("{0}")]
    Refused(String),
    /// It said something that is not understood.
    #[error("the process that fetches said something that is not understood")]
    Answer,
}

/// What a place stands for.
pub(super) struct Fetched {
    pub(super) digest: String,
    /// True where it is what was known.
    pub(super) is_same: bool,
}

/// Fetches what the place stands for into a hidden folder within the policies folder, from which it can be moved by renaming.
pub(super) async fn fetch(
    updates: &Updates,
    section: &UpdateSection,
    known: Option<&str>,
) -> Result<(Fetched, TempDir), FetchError> {
    std::fs::create_dir_all(&updates.folder).map_err(FetchError::Folder)?;
    let into = tempfile::Builder::new().prefix(".update-").tempdir_in(&updates.folder).map_err(FetchError::Folder)?;
    let mut command = Command::new(&updates.program);
    command.args(["policy", "pull", "--json", "--log", "error"]);
    command.arg("--home").arg(updates.home.path()).arg("--config").arg(&updates.config);
    command.arg("--into").arg(into.path());
    if let Some(known) = known {
        command.args(["--unless", known]);
    }
    if let (Some(user), Some(file)) = (&section.user, &section.password_file) {
        command.args(["--registry-user", user]).arg("--registry-password-file").arg(file);
    }
    // Last, and after what ends options: it comes from the config as it is.
    command.arg("--").arg(&section.from);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let running = run(command);
    let (code, said, complained) = tokio::time::timeout(LONGEST, running).await.map_err(|_| FetchError::Endless)??;
    if code != Some(Exit::Success as i32) {
        let text = String::from_utf8_lossy(&complained);
        let is_said = |line: &&str| ["error: ", "hint: "].iter().any(|head| line.starts_with(head));
        let reason = one_line(&text.lines().filter(is_said).collect::<Vec<_>>().join("; "));
        return Err(if reason.is_empty() {
            FetchError::Said("the process that fetches was ended: what it got was too large, or it broke".to_owned())
        } else if code == Some(Exit::Policies as i32) {
            FetchError::Refused(reason)
        } else {
            FetchError::Said(reason)
        });
    }
    let answer = parse(said.trim_ascii()).map_err(|_| FetchError::Answer)?;
    let digest = answer.get("digest").and_then(Value::as_str).ok_or(FetchError::Answer)?.to_owned();
    let is_same = answer.get("same").and_then(Value::as_bool).ok_or(FetchError::Answer)?;
    Ok((Fetched { digest, is_same }, into))
}

async fn run(mut command: Command) -> Result<(Option<i32>, Vec<u8>, Vec<u8>), FetchError> {
    let mut child = command.spawn().map_err(FetchError::Process)?;
    let (said, complained) = tokio::try_join!(read(child.stdout.take()), read(child.stderr.take()))?;
    let status = child.wait().await.map_err(FetchError::Process)?;
    Ok((status.code(), said, complained))
}

/// Reads to the end, or until it is too much: the process then waits for us in vain and is ended.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MOST_PRINTED).read_to_end(&mut bytes).await.map_err(FetchError::Process)?;
    }
    Ok(bytes)
}

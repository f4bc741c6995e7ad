//! Gateways of one home start a server one after the other: launchers such as `npx` and `uvx` fill a cache on a first
//! start, and ten that do so at once are ten downloads, or a broken cache.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_model::{Digest, Launch, ServerEntry};
use tokio::time::Instant;

/// Servers share so many lock files, so that a home does not fill with them. Two servers that share one wait for each
/// other without need, for as long as a start takes.
const FILES: u8 = 64;
/// The lock is tried this often.
const ROUND: Duration = Duration::from_millis(100);

/// The right to connect a server; given back when it is dropped, and by the system where the process ends.
#[derive(Debug)]
pub(crate) struct ConnectLock {
    _file: File,
}

/// Waits up to `limit` for the right to connect a server. Nothing where it can't be had: whoever holds it for longer than
/// a start may take is stuck, and to go on is then better than to wait.
pub(crate) async fn connect_lock(folder: &Path, entry: &ServerEntry, limit: Duration) -> Option<ConnectLock> {
    let path = folder.join(format!("connect-{:02}.lock", slot(entry)));
    let file = match open(path).await {
        Ok(file) => file,
        Err(error) => {
            tracing::warn!(server = %entry.name, %error, "the lock for connecting cannot be opened");
            return None;
        }
    };
    let until = Instant::now() + limit;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(ConnectLock { _file: file }),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => tokio::time::sleep(ROUND).await,
            Err(std::fs::TryLockError::WouldBlock) => {
                tracing::warn!(server = %entry.name, "another gateway connects this server for long; going on beside it");
                return None;
            }
            Err(std::fs::TryLockError::Error(error)) => {
                tracing::warn!(server = %entry.name, %error, "the lock for connecting cannot be taken");
                return None;
            }
        }
    }
}

/// Returns the number of the file that stands for a server: the same in every gateway that has the same entry.
fn slot(entry: &ServerEntry) -> u8 {
    let what = match &entry.launch {
        Launch::Stdio { command, arguments, .. } => format!("{command}\0{}", arguments.join("\0")),
        Launch::Http { url, .. } => url.clone(),
    };
    let digest = Digest::of(format!("{}\0{what}", entry.name).as_bytes());
    digest.as_bytes().first().map_or(0, |byte| byte % FILES)
}

async fn open(path: PathBuf) -> io::Result<File> {
    let opening = tokio::task::spawn_blocking(move || {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    });
    opening.await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::tests::support::entry;

    const LIMIT: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn whoever_connects_a_server_holds_the_others_up_until_it_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let (path, server) = (folder.path().to_owned(), entry("s"));
        let first = connect_lock(&path, &server, LIMIT).await.unwrap();
        let second = tokio::spawn(async move { connect_lock(&path, &server, LIMIT).await.is_some() });
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(!second.is_finished());
        drop(first);
        assert!(second.await.unwrap());
    }

    #[tokio::test]
    async fn a_holder_that_is_stuck_is_not_waited_for_longer_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let _first = connect_lock(folder.path(), &entry("s"), LIMIT).await.unwrap();
        let began = std::time::Instant::now();
        assert!(connect_lock(folder.path(), &entry("s"), Duration::from_millis(250)).await.is_none());
        assert!(began.elapsed() >= Duration::from_millis(250));
    }

    #[tokio::test]
    async fn a_folder_that_is_gone_holds_nobody_up() {
        assert!(connect_lock(Path::new("/nonexistent"), &entry("s"), LIMIT).await.is_none());
    }

    #[test]
    fn the_same_entry_has_the_same_file_and_there_are_few() {
        assert_eq!(slot(&entry("s")), slot(&entry("s")));
        assert!((0..500).all(|number| slot(&entry(&format!("s{number}"))) < FILES));
    }
}

//! `portcullis policy sign`: signs files.

use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_signatures::{KeyError, SecretKey};

use crate::arguments::{SecretKeyFile, Sign};
use crate::failure::OrExit as _;
use crate::report::{self, Report};
use crate::{Exit, Failure};

/// A key file has two lines. What is larger is none, and is not read.
const LARGEST_KEY: u64 = 64 * 1024;

pub(crate) fn run(arguments: &Sign) -> Result<Exit, Failure> {
    let SecretKeyFile { key, password_file } = &arguments.key;
    let key = open(key, password_file.as_deref())?;
    let mut signed = Vec::new();
    for file in &arguments.files {
        let doing = || format!("signing `{}`", file.display());
        let bytes = std::fs::read(file).or_exit(Exit::Usage, doing())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let signature = key.sign(&bytes, &name).or_exit(Exit::Usage, doing())?;
        let beside = signature_of(file);
        write_whole(&beside, signature.as_bytes()).or_exit(Exit::Usage, format!("writing `{}`", beside.display()))?;
        signed.push(beside);
    }
    report::print(&Signed { id: key.public().id(), signed }, arguments.format)?;
    Ok(Exit::Success)
}

/// Returns the name of the signature of a file.
pub(crate) fn signature_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}

/// Writes a file beside its place and renames it: a gateway that watches the folder never reads half of it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut draft = builder.prefix(".").suffix(".tmp").tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    draft.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Opens a secret key, and asks for its password where it has one.
pub(super) fn open(path: &Path, password_file: Option<&Path>) -> Result<SecretKey, Failure> {
    let doing = || format!("reading the secret key `{}`", path.display());
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LARGEST_KEY).read_to_string(&mut text));
    read.or_exit(Exit::Usage, doing())?;
    match SecretKey::open(&text, None) {
        Err(KeyError::PasswordNeeded) => {
            let password = password(password_file, "Password of the key: ")?;
            SecretKey::open(&text, Some(&password)).or_exit(Exit::Usage, doing())
        }
        opened => opened.or_exit(Exit::Usage, doing()),
    }
}

/// Returns a password for a new key: of a file, or asked for twice.
pub(super) fn new_password(file: Option<&Path>) -> Result<String, Failure> {
    let password = if file.is_some() {
        password(file, "")?
    } else {
        let first = password(None, "New password: ")?;
        if password(None, "Once more: ")? != first {
            return Err(Failure::new(Exit::Failed, "the two are not the same"));
        }
        first
    };
    if password.is_empty() {
        let failure = Failure::new(Exit::Usage, "an empty password protects nothing");
        return Err(failure.hint("`--no-password` makes a key without one"));
    }
    Ok(password)
}

#[cfg(unix)]
fn password(file: Option<&Path>, prompt: &str) -> Result<String, Failure> {
    use crate::commands::approvals::passphrase;
    match file {
        Some(file) => passphrase::from_file(file),
        None => passphrase::ask(prompt).map_err(|failure| failure.hint("without a terminal, use `--password-file`")),
    }
}

#[cfg(not(unix))]
fn password(file: Option<&Path>, _prompt: &str) -> Result<String, Failure> {
    let hint = |failure: Failure| failure.hint("name a file with the password: `--password-file`");
    let Some(file) = file else {
        return Err(hint(Failure::new(Exit::Usage, "a password cannot be asked for on this system")));
    };
    let text = std::fs::read_to_string(file).or_exit(Exit::Usage, "reading the password").map_err(hint)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

struct Signed {
    id: String,
    signed: Vec<PathBuf>,
}

impl Report for Signed {
    fn to_value(&self) -> Value {
        let signatures = self.signed.iter().map(|path| Value::from(path.display().to_string()));
        object! { "key" => self.id.as_str(), "signatures" => signatures.collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.signed.iter().try_for_each(|path| writeln!(out, "{}", path.display()))
    }
}

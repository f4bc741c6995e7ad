//! What servers listed when they last ran, so that those that start at their first call can be listed before.
//!
//! A file a server and set of client capabilities. It is a memory, not an authority: whatever is read from it passes the
//! listing gate like what a server says, and is replaced by what the server says once it runs.

mod fingerprint;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use portcullis_config::ServerOptions;
use portcullis_model::json::{Limits, Object, Value, parse_with};
use portcullis_model::{Digest, ServerEntry, object};

use super::Greeting;
use super::items::RawListing;

/// Returns which entry a server runs by: the fingerprint of the reference client.
pub(crate) fn fingerprint_of(entry: &ServerEntry, options: &ServerOptions) -> String {
    fingerprint::of(entry, options)
}

/// A file may have so many bytes: lists of a few thousand tools. Longer ones are not kept.
const LONGEST: u64 = 8 * 1024 * 1024;
/// A folder may hold so many files; no further ones are made then. Servers of a config are a few dozen.
const MOST_FILES: usize = 512;
/// The form of the files. One of another form is no memory.
const FORM: u64 = 1;

/// Where the lists of a server are kept.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: PathBuf,
    /// The fingerprint that the reference client gives an entry.
    fingerprint: String,
    /// What else a list depends on.
    digest: String,
}

/// What a server offered when it last ran.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) greeting: Greeting,
    pub(crate) raw: RawListing,
}

impl Place {
    /// Returns where in `folder` the lists of a server are kept that is told these capabilities of the client.
    pub(crate) fn new(folder: &Path, entry: &ServerEntry, options: &ServerOptions, capabilities: &Value) -> Self {
        let capabilities = capabilities.to_json();
        let name = Digest::of_parts([entry.name.as_str().as_bytes(), capabilities.as_bytes()]);
        Self {
            path: folder.join(format!("{}.json", name.short())),
            fingerprint: fingerprint::of(entry, options),
            digest: fingerprint::rest(entry, options, &capabilities),
        }
    }

    /// Reads what is kept. Nothing where there is none, where it is of another entry or too old, and where the file can't
    /// be read as one.
    pub(crate) fn load(&self) -> Option<Remembered> {
        let mut text = Vec::new();
        File::open(&self.path).ok()?.take(LONGEST + 1).read_to_end(&mut text).ok()?;
        if text.len() as u64 > LONGEST {
            return None;
        }
        let document = parse_with(&text, Limits::WIRE).ok()?;
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        let is_mine = document.get("form").and_then(Value::as_u64) == Some(FORM)
            && word("fingerprint") == Some(&self.fingerprint)
            && word("digest") == Some(&self.digest);
        if !is_mine || is_stale(&document) {
            return None;
        }
        let list = |key: &str| document.get(key).and_then(Value::as_array).map(<[Value]>::to_vec);
        let raw = RawListing {
            tools: list("tools")?,
            prompts: list("prompts")?,
            resources: list("resources")?,
            templates: list("templates")?,
            instructions: word("instructions").map(str::to_owned),
            ..RawListing::default()
        };
        let greeting = Greeting {
            revision: word("revision")?.to_owned(),
            implementation: word("implementation").map(str::to_owned),
            capabilities: document.get("capabilities").filter(|value| value.as_object().is_some())?.clone(),
            instructions: raw.instructions.clone(),
        };
        Some(Remembered { greeting, raw })
    }

    /// Keeps what a server offers now. A list that is not whole is not kept: it would look as if tools had gone.
    pub(crate) fn store(&self, remembered: &Remembered) -> io::Result<()> {
        let Remembered { greeting, raw } = remembered;
        if !raw.incomplete.is_empty() {
            return Ok(());
        }
        let mut document = object! {
            "form" => FORM,
            "fingerprint" => self.fingerprint.as_str(),
            "digest" => self.digest.as_str(),
            "written_at_ms" => now_ms(),
            "revision" => greeting.revision.as_str(),
            "capabilities" => greeting.capabilities.clone(),
            "tools" => raw.tools.clone(),
            "prompts" => raw.prompts.clone(),
            "resources" => raw.resources.clone(),
            "templates" => raw.templates.clone(),
        };
        insert(&mut document, "ttl_ms", raw.ttl_ms);
        insert(&mut document, "implementation", greeting.implementation.as_deref());
        insert(&mut document, "instructions", greeting.instructions.as_deref());
        let text = Value::from(document).to_json();
        if text.len() as u64 > LONGEST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the lists are too long to be kept"));
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        if !self.path.exists() && fs::read_dir(folder)?.take(MOST_FILES).count() >= MOST_FILES {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the lists of too many servers are kept already"));
        }
        replace(&self.path, text.as_bytes())
    }
}

fn insert(document: &mut Object, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        document.insert(key, value);
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns true where a server said how long its list stands (`ttlMs`, MCP 2026-07-28) and that time is over. One that was
/// written in the future was written by a clock that cannot be believed.
fn is_stale(document: &Value) -> bool {
    let Some(ttl) = document.get("ttl_ms").and_then(Value::as_u64) else {
        return false;
    };
    let written = document.get("written_at_ms").and_then(Value::as_u64);
    let age = written.and_then(|written| now_ms().checked_sub(written));
    age.is_none_or(|age| Duration::from_millis(age) >= Duration::from_millis(ttl))
}

/// Writes beside and renames into place, so that nobody reads half a file.
pub(super) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let unique = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    let beside = path.with_extension(format!("new-{unique:016x}"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    let written = file.write_all(text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _gone = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests;

//! Files as they were before a command changed them, kept in the home until they are wanted back.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portcullis_model::json::{Value, parse_str};
use portcullis_model::{Digest, object};
use portcullis_store::Home;

use crate::failure::OrExit as _;
use crate::files::FileText;
use crate::server_report::unix_ms;
use crate::{Exit, Failure};

/// The folder of the home that holds them, for its owner alone: configs hold secrets.
const FOLDER: &str = "backups";

/// A file that is about to change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// As it was read.
    pub(crate) before: FileText,
    /// What it is about to be.
    pub(crate) after: Vec<u8>,
    /// True where only its owner may read it.
    pub(crate) private: bool,
}

/// What became of a file that was wanted back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// It is as it was, byte for byte.
    Whole,
    /// There was none, and there is none now.
    Removed,
    /// Somebody changed it since: it is left as it is.
    Changed,
}

impl Restored {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "as it was",
            Self::Removed => "removed, as there was none",
            Self::Changed => "left as it is: it was changed since",
        }
    }
}

/// The latest backup under a name.
#[derive(Debug)]
pub(crate) struct Backup {
    folder: PathBuf,
    files: Vec<Kept>,
    /// What else was noted when it was taken.
    pub(crate) note: Value,
}

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    /// The name of its copy; nothing where there was no file.
    copy: Option<String>,
    /// What was written over it.
    after: String,
}

/// Keeps files as they are, then writes what they are about to be. `name` is what they are found by again.
pub(crate) fn replace(home: &Home, name: &str, changes: &[Change], note: &Value) -> Result<(), Failure> {
    let doing = "keeping the files as they were";
    let root = home.folder(FOLDER).or_exit(Exit::State, doing)?;
    let folder = root.join(format!("{name}-{:015}", unix_ms(SystemTime::now())));
    let folder =
        (1..).map(|number| if number == 1 { folder.clone() } else { folder.with_extension(number.to_string()) });
    let Some(folder) = folder.into_iter().find(|folder| !folder.exists()) else {
        return Err(Failure::new(Exit::State, doing));
    };
    private_folder(&folder).or_exit(Exit::State, doing)?;
    let mut files = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let copy = change.before.bytes.as_ref().map(|bytes| (format!("{index}"), bytes));
        if let Some((copy, bytes)) = &copy {
            let file = FileText { path: folder.join(copy), bytes: None };
            file.replace_private(bytes).or_exit(Exit::State, doing)?;
        }
        let mut kept = object! {
            "path" => change.before.path.display().to_string(),
            "after" => Digest::of(&change.after).to_string(),
        };
        if let Some((copy, _)) = copy {
            kept.insert("copy", copy);
        }
        files.push(Value::from(kept));
    }
    let manifest = Value::from(object! { "files" => files, "note" => note.clone() });
    let file = FileText { path: folder.join("manifest.json"), bytes: None };
    file.replace_private(manifest.to_json().as_bytes()).or_exit(Exit::State, doing)?;
    for change in changes {
        let written = if change.private {
            change.before.replace_private(&change.after)
        } else {
            change.before.replace(&change.after)
        };
        written.or_exit(Exit::State, "writing the change")?;
    }
    Ok(())
}

#[cfg(unix)]
fn private_folder(path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

impl Backup {
    /// Finds the latest one under a name; nothing where there is none.
    pub(crate) fn latest(home: &Home, name: &str) -> Result<Option<Self>, Failure> {
        let root = home.folder(FOLDER).or_exit(Exit::State, "opening the folder of backups")?;
        let entries = std::fs::read_dir(&root).or_exit(Exit::State, "reading the folder of backups")?;
        let is_of_name = |folder: &PathBuf| {
            let own = folder.file_name().map(|own| own.to_string_lossy().into_owned()).unwrap_or_default();
            let stamp = own.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')).map(str::to_owned);
            stamp.is_some_and(|stamp| stamp.starts_with(|first: char| first.is_ascii_digit()))
        };
        let folders = entries.flatten().map(|entry| entry.path()).filter(is_of_name);
        let complete = folders.filter(|folder| folder.join("manifest.json").exists());
        complete.max().map(Self::read).transpose()
    }

    fn read(folder: PathBuf) -> Result<Self, Failure> {
        let broken = || Failure::new(Exit::State, format!("the backup {} can't be read", folder.display()));
        let file = FileText::read(&folder.join("manifest.json")).or_exit(Exit::State, "reading the backup")?;
        let text = String::from_utf8(file.bytes.unwrap_or_default()).map_err(|_| broken())?;
        let manifest = parse_str(&text).map_err(|_| broken())?;
        let text = |file: &Value, key: &str| file.get(key).and_then(Value::as_str).map(str::to_owned);
        let files = manifest.get("files").and_then(Value::as_array).ok_or_else(broken)?.iter().map(|file| {
            let (path, after) = (text(file, "path").ok_or_else(broken)?, text(file, "after").ok_or_else(broken)?);
            Ok(Kept { path: path.into(), copy: text(file, "copy"), after })
        });
        let files = files.collect::<Result<Vec<_>, Failure>>()?;
        let note = manifest.get("note").cloned().unwrap_or(Value::Null);
        Ok(Self { folder, files, note })
    }

    /// Brings all files back that nobody changed since. The backup is gone afterwards where it is not needed any more.
    pub(crate) fn restore(&self) -> Result<Vec<(PathBuf, Restored)>, Failure> {
        let mut restored = Vec::new();
        for kept in &self.files {
            restored.push((kept.path.clone(), self.restore_file(kept)?));
        }
        if !restored.iter().any(|(_, restored)| *restored == Restored::Changed) {
            self.forget()?;
        }
        Ok(restored)
    }

    /// Removes the backup.
    pub(crate) fn forget(&self) -> Result<(), Failure> {
        std::fs::remove_dir_all(&self.folder).or_exit(Exit::State, "removing the backup that was used")
    }

    /// Returns where the copies are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn restore_file(&self, kept: &Kept) -> Result<Restored, Failure> {
        let doing = || format!("bringing {} back", kept.path.display());
        let now = FileText::read(&kept.path).or_exit(Exit::State, doing())?;
        let before = match &kept.copy {
            Some(copy) => FileText::read(&self.folder.join(copy)).or_exit(Exit::State, doing())?.bytes,
            None => None,
        };
        let is_ours = now.bytes.as_ref().is_some_and(|bytes| Digest::of(bytes).to_string() == kept.after);
        if !is_ours && now.bytes != before {
            return Ok(Restored::Changed);
        }
        match before {
            Some(bytes) => {
                now.replace(&bytes).or_exit(Exit::State, doing())?;
                Ok(Restored::Whole)
            }
            None if now.bytes.is_some() => {
                std::fs::remove_file(&kept.path).or_exit(Exit::State, doing())?;
                Ok(Restored::Removed)
            }
            None => Ok(Restored::Removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_byte_for_byte_and_what_was_changed_since_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(&folder.path().join("home")).unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        std::fs::write(&old, b"\xff one\r\n").unwrap();
        let change = |path: &Path, after: &[u8]| Change {
            before: FileText::read(path).unwrap(),
            after: after.to_vec(),
            private: false,
        };
        replace(&home, "import", &[change(&old, b"two"), change(&new, b"three")], &Value::Null).unwrap();
        assert_eq!((std::fs::read(&old).unwrap(), std::fs::read(&new).unwrap()), (b"two".to_vec(), b"three".to_vec()));
        assert!(Backup::latest(&home, "imp").unwrap().is_none());
        let restored = Backup::latest(&home, "import").unwrap().unwrap().restore().unwrap();
        assert_eq!(restored, [(old.clone(), Restored::Whole), (new.clone(), Restored::Removed)]);
        assert_eq!((std::fs::read(&old).unwrap(), new.exists()), (b"\xff one\r\n".to_vec(), false));
        assert!(Backup::latest(&home, "import").unwrap().is_none());

        replace(&home, "import", &[change(&old, b"two")], &Value::Null).unwrap();
        std::fs::write(&old, b"mine").unwrap();
        let backup = Backup::latest(&home, "import").unwrap().unwrap();
        assert_eq!(backup.restore().unwrap(), [(old.clone(), Restored::Changed)]);
        assert_eq!(std::fs::read(&old).unwrap(), b"mine");
        assert!(Backup::latest(&home, "import").unwrap().is_some());
    }
}

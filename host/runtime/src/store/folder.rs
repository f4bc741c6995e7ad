//! The policies folder, read once: every file through a handle of the folder, bounded, into memory.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use portcullis_model::PolicyName;
use portcullis_model::json::Value;

use crate::inspect::LARGEST_MODULE;
use crate::pack::{PackError, PackFile};
use crate::yaml::{LARGEST_YAML, YamlError, parse_yaml};

/// Files of the folder that are looked at. A folder of more is a mistake, or meant to keep us busy.
const MOST_FILES: usize = 512;

/// Bytes of all files together.
const MOST_BYTES: usize = 512 * 1024 * 1024;

/// A file of the folder was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused.
    #[error("it could not be read")]
    Io(#[source] io::Error),
    /// It is a folder, a pipe or a device.
    #[error("it is no regular file")]
    Kind,
    /// It belongs to another user, who is not root.
    #[error("it belongs to another user")]
    Owner,
    /// Everybody may write to it.
    #[error("everybody may write to it; hint: chmod o-w it")]
    Mode,
    /// It is larger than what is read.
    #[error("it has more than {0} bytes")]
    Size(usize),
    /// The folder has too much in it.
    #[error("the folder holds more than {MOST_FILES} files or {MOST_BYTES} bytes")]
    Folder,
    /// Its name is none that a policy has.
    #[error("its name is no name of a policy")]
    Name(#[source] portcullis_model::IdError),
    /// It is no text of settings.
    #[error("its settings are no YAML that is accepted")]
    Settings(#[source] YamlError),
    /// It is no pack.
    #[error("it is no pack")]
    Pack(#[source] PackError),
    /// It is a pack that does not say for whom.
    #[error("the pack names no policy; hint: add `policy: NAME`")]
    NoPolicy,
    /// It is nothing that belongs here.
    #[error("it is no .wasm, .yaml, .pack.yaml or .minisig")]
    Unknown,
}

/// Files of one name that are no pack.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) wasm: Option<Vec<u8>>,
    pub(crate) settings: Option<Value>,
}

/// What the folder holds.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub(crate) groups: BTreeMap<PolicyName, Group>,
    pub(crate) packs: Vec<(String, PackFile)>,
    /// Files that were not read, with the reason.
    pub(crate) refused: Vec<(String, FileError)>,
}

/// What a file is, by its name.
enum Kind {
    Module(PolicyName),
    Settings(PolicyName),
    Signature(PolicyName),
    Pack,
}

fn kind(name: &str) -> Result<Kind, FileError> {
    let policy = |name: &str| PolicyName::parse(name).map_err(FileError::Name);
    if name.strip_suffix(".pack.yaml").or_else(|| name.strip_suffix(".pack.yml")).is_some() {
        return Ok(Kind::Pack);
    }
    match name.rsplit_once('.') {
        Some((stem, "wasm")) => policy(stem).map(Kind::Module),
        Some((stem, "yaml" | "yml")) => policy(stem).map(Kind::Settings),
        // `minisign` signs `x.wasm` as `x.wasm.minisig`.
        Some((stem, "minisig")) => policy(stem.strip_suffix(".wasm").unwrap_or(stem)).map(Kind::Signature),
        Some(_) | None => Err(FileError::Unknown),
    }
}

/// Returns the policy that a file belongs to by its name.
pub(crate) fn policy_of(name: &str) -> Option<PolicyName> {
    match kind(name) {
        Ok(Kind::Module(policy) | Kind::Settings(policy) | Kind::Signature(policy)) => Some(policy),
        Ok(Kind::Pack) | Err(_) => None,
    }
}

impl Folder {
    /// Reads the folder. One that does not exist is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let directory = match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(FileError::Io(error)),
        };
        let mut names = Vec::new();
        for entry in directory.entries().map_err(FileError::Io)? {
            let name = entry.map_err(FileError::Io)?.file_name().to_string_lossy().into_owned();
            // Whoever writes and then renames begins with a dot; editors end with one of these.
            if name.starts_with('.') || ["~", ".tmp", ".part"].iter().any(|end| name.ends_with(end)) {
                continue;
            }
            names.push(name);
            if names.len() > MOST_FILES {
                return Err(FileError::Folder);
            }
        }
        names.sort_unstable();
        let mut folder = Self::default();
        let mut left = MOST_BYTES;
        for name in names {
            if let Err(error) = folder.take(&directory, &name, &mut left) {
                folder.refused.push((name, error));
            }
        }
        Ok(folder)
    }

    fn take(&mut self, directory: &Dir, name: &str, left: &mut usize) -> Result<(), FileError> {
        let kind = kind(name)?;
        let most = match kind {
            Kind::Module(_) => LARGEST_MODULE,
            Kind::Settings(_) | Kind::Signature(_) | Kind::Pack => LARGEST_YAML,
        };
        let bytes = read(directory, name, most)?;
        *left = left.checked_sub(bytes.len()).ok_or(FileError::Folder)?;
        match kind {
            Kind::Module(policy) => self.groups.entry(policy).or_default().wasm = Some(bytes),
            Kind::Settings(policy) => {
                let settings = parse_yaml(&bytes).map_err(FileError::Settings)?;
                self.groups.entry(policy).or_default().settings = Some(settings);
            }
            // It belongs to a module, which is taken on the operator's word as long as signatures are not verified.
            Kind::Signature(_) => {}
            Kind::Pack => {
                let pack = PackFile::parse(&bytes).map_err(FileError::Pack)?;
                if pack.policy.is_none() {
                    return Err(FileError::NoPolicy);
                }
                self.packs.push((name.to_owned(), pack));
            }
        }
        Ok(())
    }
}

/// Reads a file that only its owner, or root, may have written. Links are followed inside of the folder only.
pub(crate) fn read(directory: &Dir, name: &str, most: usize) -> Result<Vec<u8>, FileError> {
    let mut options = OpenOptions::new();
    // A named pipe must not make us wait.
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = directory.open_with(name, &options).map_err(FileError::Io)?;
    let metadata = file.metadata().map_err(FileError::Io)?;
    if !metadata.is_file() {
        return Err(FileError::Kind);
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() && metadata.uid() != 0 {
        return Err(FileError::Owner);
    }
    if metadata.mode() & 0o002 != 0 {
        return Err(FileError::Mode);
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(FileError::Io)?;
    if bytes.len() > most { Err(FileError::Size(most)) } else { Ok(bytes) }
}

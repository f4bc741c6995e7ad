//! The policies folder, read once: every file through a handle of the folder, bounded, into memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use portcullis_model::PolicyName;
use portcullis_model::json::Value;
use portcullis_signatures::{LARGEST_BUNDLE, LARGEST_SIGNATURE};

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
    /// It is a signature, and what it would sign is not there.
    #[error("it signs `{0}`, which is not there")]
    SignsNothing(String),
    /// It is nothing that belongs here.
    #[error("it is no .wasm, .yaml, .pack.yaml, .bundle or .minisig")]
    Unknown,
}

/// A file as it was read, with its signature where there is one.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) signature: Option<Vec<u8>>,
}

/// Files of one name that are no pack.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) module: Option<Dropped>,
    pub(crate) settings: Option<(Dropped, Value)>,
}

/// What the folder holds.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub(crate) groups: BTreeMap<PolicyName, Group>,
    pub(crate) packs: Vec<(Dropped, PackFile)>,
    pub(crate) bundles: Vec<Dropped>,
    /// Files that were not read, with the reason.
    pub(crate) refused: Vec<(String, FileError)>,
    /// Signatures, by the name of the file that they sign.
    signatures: BTreeMap<String, Vec<u8>>,
}

/// What a file is, by its name.
pub(crate) enum Kind {
    Module(PolicyName),
    Settings(PolicyName),
    /// Of the file of that name.
    Signature(String),
    Pack,
    Bundle,
}

pub(crate) fn kind(name: &str) -> Result<Kind, FileError> {
    let policy = |name: &str| PolicyName::parse(name).map_err(FileError::Name);
    if name.strip_suffix(".pack.yaml").or_else(|| name.strip_suffix(".pack.yml")).is_some() {
        return Ok(Kind::Pack);
    }
    match name.rsplit_once('.') {
        Some((stem, "wasm")) => policy(stem).map(Kind::Module),
        Some((stem, "yaml" | "yml")) => policy(stem).map(Kind::Settings),
        Some((_, "bundle")) => Ok(Kind::Bundle),
        // `minisign` signs `x.wasm` as `x.wasm.minisig`; the short form is for modules, which most signatures are for.
        Some((stem, "minisig")) if stem.contains('.') => Ok(Kind::Signature(stem.to_owned())),
        Some((stem, "minisig")) => Ok(Kind::Signature(format!("{stem}.wasm"))),
        Some(_) | None => Err(FileError::Unknown),
    }
}

/// Returns the policy that a file belongs to by its name.
pub(crate) fn policy_of(name: &str) -> Option<PolicyName> {
    match kind(name) {
        Ok(Kind::Module(policy) | Kind::Settings(policy)) => Some(policy),
        Ok(Kind::Signature(signed)) if !signed.ends_with(".minisig") => policy_of(&signed),
        Ok(Kind::Signature(_) | Kind::Pack | Kind::Bundle) | Err(_) => None,
    }
}

impl Folder {
    /// Reads the folder, as it would be with the files of another one laid over it. One that does not exist is empty.
    pub(crate) fn read(path: &Path, over: Option<&Path>) -> Result<Self, FileError> {
        let mut names = BTreeSet::new();
        let base = list(path, &mut names)?;
        let over = match over {
            Some(over) => {
                let mut above = BTreeSet::new();
                let over = list(over, &mut above)?;
                // A signature belongs to the file that it came with.
                names.retain(|name| !signed_by(name).is_some_and(|signed| above.contains(&signed)));
                over.map(|over| (over, above))
            }
            None => None,
        };
        let mut files: Vec<(String, &Dir)> = Vec::new();
        if let Some((directory, above)) = &over {
            names.retain(|name| !above.contains(name));
            files.extend(above.iter().map(|name| (name.clone(), directory)));
        }
        if let Some(directory) = &base {
            files.extend(names.into_iter().map(|name| (name, directory)));
        }
        if files.len() > MOST_FILES {
            return Err(FileError::Folder);
        }
        files.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        let mut folder = Self::default();
        let mut left = MOST_BYTES;
        for (name, directory) in files {
            if let Err(error) = folder.take(directory, &name, &mut left) {
                folder.refused.push((name, error));
            }
        }
        folder.hand_out_signatures();
        Ok(folder)
    }

    /// Lays each signature beside what it signs.
    fn hand_out_signatures(&mut self) {
        let modules = self.groups.values_mut().filter_map(|group| group.module.as_mut());
        for dropped in modules {
            dropped.signature = self.signatures.remove(&dropped.file);
        }
        let settings = self.groups.values_mut().filter_map(|group| group.settings.as_mut().map(|(dropped, _)| dropped));
        for dropped in settings.chain(self.packs.iter_mut().map(|(dropped, _)| dropped)) {
            dropped.signature = self.signatures.remove(&dropped.file);
        }
        for (signed, _) in std::mem::take(&mut self.signatures) {
            // What was not read is reported itself.
            if !self.refused.iter().any(|(name, _)| *name == signed) {
                self.refused.push((format!("{signed}.minisig"), FileError::SignsNothing(signed)));
            }
        }
    }

    fn take(&mut self, directory: &Dir, name: &str, left: &mut usize) -> Result<(), FileError> {
        let kind = kind(name)?;
        let most = match kind {
            Kind::Module(_) => LARGEST_MODULE,
            Kind::Bundle => LARGEST_BUNDLE,
            Kind::Signature(_) => LARGEST_SIGNATURE,
            Kind::Settings(_) | Kind::Pack => LARGEST_YAML,
        };
        let bytes = read(directory, name, most)?;
        *left = left.checked_sub(bytes.len()).ok_or(FileError::Folder)?;
        let dropped = |bytes| Dropped { file: name.to_owned(), bytes, signature: None };
        match kind {
            Kind::Module(policy) => self.groups.entry(policy).or_default().module = Some(dropped(bytes)),
            Kind::Settings(policy) => {
                let settings = parse_yaml(&bytes).map_err(FileError::Settings)?;
                self.groups.entry(policy).or_default().settings = Some((dropped(bytes), settings));
            }
            Kind::Signature(signed) => {
                self.signatures.insert(signed, bytes);
            }
            Kind::Pack => {
                let pack = parse_pack(&bytes)?;
                self.packs.push((dropped(bytes), pack));
            }
            Kind::Bundle => self.bundles.push(dropped(bytes)),
        }
        Ok(())
    }
}

/// Opens a folder and lists the files in it that may count. Nothing where there is no folder.
fn list(path: &Path, names: &mut BTreeSet<String>) -> Result<Option<Dir>, FileError> {
    let directory = match Dir::open_ambient_dir(path, ambient_authority()) {
        Ok(directory) => directory,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::Io(error)),
    };
    for entry in directory.entries().map_err(FileError::Io)? {
        let name = entry.map_err(FileError::Io)?.file_name().to_string_lossy().into_owned();
        // Whoever writes and then renames begins with a dot; editors end with one of these.
        if name.starts_with('.') || ["~", ".tmp", ".part"].iter().any(|end| name.ends_with(end)) {
            continue;
        }
        names.insert(name);
        if names.len() > MOST_FILES {
            return Err(FileError::Folder);
        }
    }
    Ok(Some(directory))
}

/// Returns the file that a signature is of, by its name.
pub(crate) fn signed_by(name: &str) -> Option<String> {
    match kind(name) {
        Ok(Kind::Signature(signed)) => Some(signed),
        Ok(Kind::Module(_) | Kind::Settings(_) | Kind::Pack | Kind::Bundle) | Err(_) => None,
    }
}

/// Returns the names of the files of a folder that may count.
pub(crate) fn files(path: &Path) -> Result<Vec<String>, FileError> {
    let mut names = BTreeSet::new();
    list(path, &mut names)?;
    Ok(names.into_iter().collect())
}

/// Parses a pack that says for whom it is.
pub(crate) fn parse_pack(bytes: &[u8]) -> Result<PackFile, FileError> {
    let pack = PackFile::parse(bytes).map_err(FileError::Pack)?;
    if pack.policy.is_none() { Err(FileError::NoPolicy) } else { Ok(pack) }
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

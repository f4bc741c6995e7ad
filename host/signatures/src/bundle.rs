//! Modules, packs and settings in one file, under one signature.
//!
//! A bundle is a tar archive: `manifest.json`, `manifest.json.minisig`, then the files that the manifest lists, each a
//! regular file with a plain name. The signature is over the manifest, and the manifest has the digest of each file. It is
//! read from memory, and nothing after the manifest is looked at before the manifest is vouched for.

use std::io::{Cursor, Read};

use portcullis_model::Digest;

use crate::manifest::{LARGEST_MANIFEST, Manifest, ManifestError, ManifestFile, is_plain_name};
use crate::signature::{LARGEST_SIGNATURE, SignatureError};

/// The largest bundle in bytes: a few interpreters with their policies.
pub const LARGEST_BUNDLE: usize = 256 * 1024 * 1024;

/// So many files may a bundle have, as many as the folder that takes it in.
pub const MOST_FILES: usize = 512;

const MANIFEST: &str = "manifest.json";
const SIGNATURE: &str = "manifest.json.minisig";

/// A file is no bundle that is taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It is too large.
    #[error("a bundle has at most {LARGEST_BUNDLE} bytes and {MOST_FILES} files")]
    TooLarge,
    /// It is no archive, or is cut off within a file.
    #[error("the bundle is cut off or no tar archive")]
    Archive(#[source] std::io::Error),
    /// It does not begin with a manifest.
    #[error("the bundle does not begin with `{MANIFEST}`")]
    NoManifest,
    /// Nobody signed the manifest. Signatures of single files say nothing of which belong together.
    #[error(
        "the manifest of the bundle is not signed, whatever of its files is; hint: `portcullis policy bundle --key`"
    )]
    UnsignedManifest,
    /// The signature does not vouch for the manifest.
    #[error("the signature does not vouch for the manifest of the bundle")]
    Signature(#[from] SignatureError),
    /// The manifest is none.
    #[error("the bundle has a bad manifest")]
    Manifest(#[from] ManifestError),
    /// Something in it is no file with a plain name.
    #[error("the bundle holds something that is no regular file with a plain name")]
    Entry,
    /// It holds what the manifest does not list, or holds it twice.
    #[error("the bundle holds `{0}`, which its manifest does not list there")]
    Unlisted(String),
    /// It ends before what the manifest lists.
    #[error("the bundle is cut off: `{0}` is missing")]
    CutOff(String),
    /// A file is not what was signed.
    #[error("`{0}` in the bundle was changed: it has another digest than the manifest says")]
    Changed(String),
}

/// One file of a bundle, with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its name, as in the policies folder.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A bundle whose files are what its manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its files, in the order of the manifest.
    pub files: Vec<BundleFile>,
}

impl Bundle {
    /// Reads a bundle. `vouch` gets the bytes of the manifest and of its signature, where there is one, before anything
    /// else is looked at; what it returns is returned beside the bundle.
    pub fn open<T>(
        archive: &[u8],
        vouch: impl FnOnce(&[u8], Option<&[u8]>) -> Result<T, BundleError>,
    ) -> Result<(Self, T), BundleError> {
        if archive.len() > LARGEST_BUNDLE {
            return Err(BundleError::TooLarge);
        }
        let mut archive = tar::Archive::new(Cursor::new(archive));
        let mut entries = archive.entries().map_err(BundleError::Archive)?.take(MOST_FILES + 3);
        let mut next = |most: &dyn Fn(&str) -> Result<usize, BundleError>| match entries.next() {
            None => Ok(None),
            Some(entry) => read(entry.map_err(BundleError::Archive)?, most).map(Some),
        };
        let head = |name: &str| if name == MANIFEST { Ok(LARGEST_MANIFEST) } else { Err(BundleError::NoManifest) };
        let (_, manifest_bytes) = next(&head)?.ok_or(BundleError::NoManifest)?;
        // Without a signature the second is a file already, which only `vouch` may let us look at: so it must be there,
        // and is empty where nobody signed.
        let second =
            |name: &str| if name == SIGNATURE { Ok(LARGEST_SIGNATURE) } else { Err(BundleError::UnsignedManifest) };
        let (_, signature) = next(&second)?.ok_or(BundleError::UnsignedManifest)?;
        let vouched = vouch(&manifest_bytes, (!signature.is_empty()).then_some(&signature))?;
        let manifest = Manifest::parse(&manifest_bytes)?;
        let mut files = Vec::with_capacity(manifest.files.len());
        for listed in &manifest.files {
            let size = |name: &str| {
                if name == listed.name { Ok(listed.bytes) } else { Err(BundleError::Unlisted(name.to_owned())) }
            };
            let Some((name, bytes)) = next(&size)? else { return Err(BundleError::CutOff(listed.name.clone())) };
            if bytes.len() != listed.bytes || Digest::of(&bytes) != listed.digest {
                return Err(BundleError::Changed(name));
            }
            files.push(BundleFile { name, bytes });
        }
        let nothing = |name: &str| Err(BundleError::Unlisted(name.to_owned()));
        match next(&nothing)? {
            Some((name, _)) => Err(BundleError::Unlisted(name)),
            None => Ok((Self { manifest, files }, vouched)),
        }
    }

    /// Makes the archive. `sign` returns the text of a signature over the manifest; an empty one stands for none.
    ///
    /// The same files make the same bytes, signature aside: no times, owners or modes of the files go in.
    pub fn archive(
        mut manifest: Manifest,
        files: &[BundleFile],
        sign: impl FnOnce(&[u8]) -> Result<String, SignatureError>,
    ) -> Result<Vec<u8>, BundleError> {
        manifest.files = files
            .iter()
            .map(|file| ManifestFile {
                name: file.name.clone(),
                bytes: file.bytes.len(),
                digest: Digest::of(&file.bytes),
            })
            .collect();
        let text = manifest.to_text();
        Manifest::parse(text.as_bytes())?;
        let signature = sign(text.as_bytes())?;
        let mut builder = tar::Builder::new(Vec::new());
        append(&mut builder, MANIFEST, text.as_bytes())?;
        append(&mut builder, SIGNATURE, signature.as_bytes())?;
        for file in files {
            append(&mut builder, &file.name, &file.bytes)?;
        }
        let archive = builder.into_inner().map_err(BundleError::Archive)?;
        if archive.len() > LARGEST_BUNDLE { Err(BundleError::TooLarge) } else { Ok(archive) }
    }
}

/// Reads an entry, of as many bytes as its name allows.
fn read<R: Read>(
    entry: tar::Entry<'_, R>,
    most: &dyn Fn(&str) -> Result<usize, BundleError>,
) -> Result<(String, Vec<u8>), BundleError> {
    let path = entry.path_bytes().into_owned();
    let name = String::from_utf8(path).ok().filter(|name| is_plain_name(name)).ok_or(BundleError::Entry)?;
    if !entry.header().entry_type().is_file() {
        return Err(BundleError::Entry);
    }
    let most = most(&name)?;
    if entry.size() > most as u64 {
        return Err(BundleError::Changed(name));
    }
    let size = entry.size();
    let mut bytes = Vec::new();
    entry.take(most as u64).read_to_end(&mut bytes).map_err(BundleError::Archive)?;
    if bytes.len() as u64 == size { Ok((name, bytes)) } else { Err(BundleError::CutOff(name)) }
}

fn append(builder: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8]) -> Result<(), BundleError> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_entry_type(tar::EntryType::Regular);
    builder.append_data(&mut header, name, bytes).map_err(BundleError::Archive)
}

//! What a bundle says of itself.

use std::collections::BTreeSet;

use portcullis_model::json::{Limits, Object, ParseError, Value, parse_with};
use portcullis_model::{Digest, IdError, PolicyName, object};

use crate::bundle::MOST_FILES;

/// The first member of every manifest. A later form of bundles has another value, and is refused by this program.
const FORMAT: &str = "portcullis-bundle-1";

/// Texts of a manifest are names and versions.
const LONGEST_TEXT: usize = 128;

/// A manifest has a line for each file.
pub(crate) const LARGEST_MANIFEST: usize = 1024 * 1024;

/// So many capabilities may a bundle require; there are fewer.
const MOST_CAPABILITIES: usize = 64;

/// A text is no manifest of this program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is no JSON.
    #[error("the manifest is no JSON")]
    Json(#[source] ParseError),
    /// It is of another form.
    #[error("the manifest is not of the form `{FORMAT}`; hint: update portcullis")]
    Format,
    /// A member is missing or not what it should be.
    #[error("the manifest's `{0}` is missing or not what it should be")]
    Member(&'static str),
    /// It has a member that this program does not know, and so cannot honour.
    #[error("the manifest has the member `{0}`, which this version does not know; hint: update portcullis")]
    Unknown(String),
    /// Its name is none.
    #[error("the manifest's `name` is no name of a bundle")]
    Name(#[source] IdError),
    /// It names a file twice.
    #[error("the manifest names `{0}` twice")]
    Twice(String),
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// Its name, as in the policies folder.
    pub name: String,
    /// Its bytes.
    pub bytes: usize,
    /// Its digest.
    pub digest: Digest,
}

/// What a bundle says of itself: the part that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name.
    pub name: PolicyName,
    /// Its version: an older one than was seen is refused.
    pub version: String,
    /// The earliest version of Portcullis that it is for.
    pub minimum_host: Option<String>,
    /// The day on which it expires, as `2027-01-31`.
    pub expires: Option<String>,
    /// Capabilities that its modules need.
    pub capabilities: Vec<String>,
    /// Its files.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// Parses a manifest. What is not known is refused: it may have been meant to restrict.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let limits = Limits { bytes: LARGEST_MANIFEST, depth: 8 };
        let value = parse_with(bytes.trim_ascii(), limits).map_err(ManifestError::Json)?;
        let Value::Object(mut object) = value else { return Err(ManifestError::Format) };
        if text(&mut object, "format")?.as_deref() != Some(FORMAT) {
            return Err(ManifestError::Format);
        }
        let name = text(&mut object, "name")?.ok_or(ManifestError::Member("name"))?;
        let manifest = Self {
            name: PolicyName::parse(&name).map_err(ManifestError::Name)?,
            version: text(&mut object, "version")?.ok_or(ManifestError::Member("version"))?,
            minimum_host: text(&mut object, "minimum_host")?,
            expires: text(&mut object, "expires")?,
            capabilities: capabilities(&mut object)?,
            files: files(&mut object)?,
        };
        match object.iter().next() {
            Some((key, _)) => Err(ManifestError::Unknown(key.chars().take(64).collect())),
            None => Ok(manifest),
        }
    }

    /// Returns the text of the manifest, ending with a line break.
    pub fn to_text(&self) -> String {
        let mut object = object! {
            "format" => FORMAT,
            "name" => self.name.as_str(),
            "version" => self.version.as_str(),
        };
        if let Some(minimum) = &self.minimum_host {
            object.insert("minimum_host", minimum.as_str());
        }
        if let Some(expires) = &self.expires {
            object.insert("expires", expires.as_str());
        }
        object.insert("capabilities", self.capabilities.iter().map(|one| one.as_str().into()).collect::<Vec<Value>>());
        let file = |file: &ManifestFile| -> Value {
            object! {
                "name" => file.name.as_str(), "bytes" => file.bytes as u64, "sha256" => file.digest.to_string(),
            }
            .into()
        };
        object.insert("files", self.files.iter().map(file).collect::<Vec<_>>());
        format!("{}\n", Value::from(object).to_json())
    }
}

fn text(object: &mut Object, key: &'static str) -> Result<Option<String>, ManifestError> {
    match object.remove(key) {
        None => Ok(None),
        Some(Value::String(text))
            if !text.is_empty() && text.len() <= LONGEST_TEXT && !text.chars().any(char::is_control) =>
        {
            Ok(Some(text))
        }
        Some(_) => Err(ManifestError::Member(key)),
    }
}

fn capabilities(object: &mut Object) -> Result<Vec<String>, ManifestError> {
    let bad = || ManifestError::Member("capabilities");
    let Some(value) = object.remove("capabilities") else { return Ok(Vec::new()) };
    let list = value.as_array().filter(|list| list.len() <= MOST_CAPABILITIES).ok_or_else(bad)?;
    list.iter()
        .map(|one| one.as_str().filter(|text| text.len() <= LONGEST_TEXT).map(str::to_owned).ok_or_else(bad))
        .collect()
}

fn files(object: &mut Object) -> Result<Vec<ManifestFile>, ManifestError> {
    let bad = || ManifestError::Member("files");
    let value = object.remove("files").ok_or_else(bad)?;
    let list = value.as_array().filter(|list| !list.is_empty() && list.len() <= MOST_FILES).ok_or_else(bad)?;
    let mut names = BTreeSet::new();
    let mut files = Vec::with_capacity(list.len());
    for one in list {
        let name = one.get("name").and_then(Value::as_str).filter(|name| is_plain_name(name)).ok_or_else(bad)?;
        let bytes = one.get("bytes").and_then(Value::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
        let digest = one.get("sha256").and_then(Value::as_str).and_then(parse_digest).ok_or_else(bad)?;
        if one.as_object().is_none_or(|object| object.len() != 3) {
            return Err(bad());
        }
        if !names.insert(name.to_owned()) {
            return Err(ManifestError::Twice(name.to_owned()));
        }
        files.push(ManifestFile { name: name.to_owned(), bytes: bytes.ok_or_else(bad)?, digest });
    }
    Ok(files)
}

/// Returns true where a name is one component of plain characters: it is shown, compared, and never opened.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (1..=LONGEST_TEXT).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

fn parse_digest(text: &str) -> Option<Digest> {
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; 32];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
    Some(Digest::from_bytes(bytes))
}

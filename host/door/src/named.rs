//! Tokens with names, which the operator makes and takes back: what is kept of them in a file.

use std::path::Path;

use portcullis_model::json::{Object, Value};
use portcullis_model::{Digest, Secret, ServerName, object};

use crate::files::{FileError, StateFile, Version};
use crate::mint::{Kind, NoRandomness, digest, mint};
use crate::source::AddressRange;

/// So many tokens with names there may be: one for each program of a person, and for those of a team.
const MOST: usize = 1_024;

/// The longest name of a token.
const LONGEST_NAME: usize = 64;

/// The name of the principal that the token of the installation acts for. No other token may have it.
pub(crate) const INSTALLATION: &str = "local";

/// The name of the token that comes by the environment.
pub(crate) const ENVIRONMENT: &str = "env";

/// A token with a name, without the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedToken {
    /// Its name, which is also the principal that it acts for.
    pub name: String,
    /// The servers whose routes it opens; all routes where there are none.
    pub servers: Option<Vec<ServerName>>,
    /// Where it may come from; anywhere where there are none.
    pub sources: Vec<AddressRange>,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// When it ends, in seconds since 1970; never where there is none.
    pub expires: Option<u64>,
    /// What is kept of the token itself.
    pub(crate) digest: Digest,
}

/// What a token is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenWish {
    /// Its name.
    pub name: String,
    /// The servers whose routes it opens; all routes where there are none.
    pub servers: Option<Vec<ServerName>>,
    /// Where it may come from; anywhere where there are none.
    pub sources: Vec<AddressRange>,
    /// How many seconds it holds; for ever where there are none.
    pub seconds: Option<u64>,
}

/// A token could not be made or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is no name.
    #[error("a name has 1 to {LONGEST_NAME} lower-case letters, digits, `-`, `_` and `.`, and is not `local` or `env`")]
    Name,
    /// There is one of that name.
    #[error("there is a token `{0}` already; hint: revoke it first, or take another name")]
    Taken(String),
    /// There is none of that name.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// It would open nothing.
    #[error("a token that opens no server opens nothing; leave the servers out to open all")]
    NoServer,
    /// There are too many.
    #[error("there are {MOST} tokens already; hint: revoke those that are not needed")]
    TooMany,
    /// There is no randomness.
    #[error("the token could not be made")]
    Randomness(#[from] NoRandomness),
    /// The file could not be used.
    #[error("the tokens could not be read or written")]
    File(#[from] FileError),
}

/// The file with the tokens of a home.
#[derive(Clone, Debug)]
pub struct TokenFile {
    file: StateFile,
}

impl TokenFile {
    /// Names the file of a folder that only its owner can enter.
    pub fn in_folder(folder: &Path) -> Self {
        Self { file: StateFile::new(folder, "tokens.json") }
    }

    pub(crate) fn version(&self) -> Version {
        self.file.version()
    }

    /// Returns the tokens, in the order in which they were made.
    pub fn list(&self) -> Result<Vec<NamedToken>, FileError> {
        self.read(self.file.read()?)
    }

    fn read(&self, value: Option<Value>) -> Result<Vec<NamedToken>, FileError> {
        let Some(value) = value else { return Ok(Vec::new()) };
        let tokens = value.get("tokens").and_then(Value::as_array).ok_or_else(|| self.file.malformed())?;
        // One that is not understood must not open more than it was made for, nor be lost with the next change.
        tokens.iter().map(|token| from_value(token).ok_or_else(|| self.file.malformed())).collect()
    }

    /// Makes a token and returns it: it is shown once, and kept as its digest. `now` is in seconds since 1970.
    pub fn mint(&self, wish: TokenWish, now: u64) -> Result<Secret, TokenError> {
        let is_name = |name: &str| {
            let is_fit =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_fit)
        };
        if !is_name(&wish.name) || [INSTALLATION, ENVIRONMENT].contains(&wish.name.as_str()) {
            return Err(TokenError::Name);
        }
        if wish.servers.as_ref().is_some_and(Vec::is_empty) {
            return Err(TokenError::NoServer);
        }
        let secret = mint(Kind::Named)?;
        let made = NamedToken {
            digest: digest(secret.expose()),
            name: wish.name,
            servers: wish.servers,
            sources: wish.sources,
            made: now,
            expires: wish.seconds.map(|seconds| now.saturating_add(seconds)),
        };
        self.file.change(|value| {
            let mut tokens = self.read(value)?;
            if tokens.iter().any(|token| token.name == made.name) {
                return Err(TokenError::Taken(made.name.clone()));
            }
            if tokens.len() >= MOST {
                return Err(TokenError::TooMany);
            }
            tokens.push(made);
            Ok((to_document(&tokens), ()))
        })?;
        Ok(secret)
    }

    /// Takes tokens back. Where one of the names is none, nothing is changed.
    pub fn revoke(&self, names: &[String]) -> Result<(), TokenError> {
        self.file.change(|value| {
            let mut tokens = self.read(value)?;
            if let Some(unknown) = names.iter().find(|name| !tokens.iter().any(|token| token.name == **name)) {
                return Err(TokenError::Unknown(unknown.clone()));
            }
            tokens.retain(|token| !names.contains(&token.name));
            Ok((to_document(&tokens), ()))
        })
    }
}

fn to_document(tokens: &[NamedToken]) -> Value {
    object! { "tokens" => tokens.iter().map(to_value).collect::<Vec<_>>() }.into()
}

fn to_value(token: &NamedToken) -> Value {
    let mut object =
        object! { "name" => token.name.as_str(), "digest" => token.digest.to_string(), "made" => token.made };
    if let Some(servers) = &token.servers {
        object.insert("servers", servers.iter().map(|server| Value::from(server.as_str())).collect::<Vec<_>>());
    }
    if !token.sources.is_empty() {
        object.insert("sources", token.sources.iter().map(|range| Value::from(range.to_string())).collect::<Vec<_>>());
    }
    if let Some(expires) = token.expires {
        object.insert("expires", expires);
    }
    object.into()
}

/// Reads a token. A member that is there and makes no sense makes all of it senseless: it may be what narrows it.
fn from_value(value: &Value) -> Option<NamedToken> {
    let object = value.as_object()?;
    let is_known = |key: &str| ["name", "digest", "made", "servers", "sources", "expires"].contains(&key);
    if !object.iter().all(|(key, _)| is_known(key)) {
        return None;
    }
    let list = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let servers = match object.get("servers") {
        Some(servers) => Some(list(servers)?.iter().map(|name| ServerName::parse(name).ok()).collect::<Option<_>>()?),
        None => None,
    };
    let sources = match object.get("sources") {
        Some(sources) => list(sources)?.iter().map(|range| range.parse().ok()).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    Some(NamedToken {
        name: object.get("name")?.as_str()?.to_owned(),
        servers,
        sources,
        made: object.get("made")?.as_u64()?,
        expires: optional(object, "expires")?,
        digest: read_digest(object.get("digest")?.as_str()?)?,
    })
}

/// Reads a number that may be missing; nothing where it is there and no number.
#[expect(clippy::option_option, reason = "missing and wrong are different answers")]
pub(crate) fn optional(object: &Object, key: &str) -> Option<Option<u64>> {
    match object.get(key) {
        Some(value) => value.as_u64().map(Some),
        None => Some(None),
    }
}

/// Reads a digest from its 64 hexadecimal digits.
pub(crate) fn read_digest(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(Digest::from_bytes(bytes))
}

/// Characters that a token from elsewhere has at least.
const SHORTEST: usize = 32;
/// Different characters that it has at least: a word that is repeated has fewer.
const FEWEST_DIFFERENT: usize = 16;
/// And at most, as any that is shown.
pub(crate) const LONGEST: usize = 512;

/// Returns true for a token from elsewhere that could be guessed: too short, too uniform, or no text for a header.
pub fn is_weak(token: &str) -> bool {
    let mut characters: Vec<u8> = token.bytes().collect();
    let is_text = characters.iter().all(u8::is_ascii_graphic);
    let length = characters.len();
    characters.sort_unstable();
    characters.dedup();
    // The same text twice and more is worth as much as once.
    let repeats = (1..=length / 2).any(|period| {
        length.is_multiple_of(period)
            && token.as_bytes().chunks(period).all(|chunk| Some(chunk) == token.as_bytes().get(..period))
    });
    !is_text || !(SHORTEST..=LONGEST).contains(&length) || characters.len() < FEWEST_DIFFERENT || repeats
}

#[cfg(test)]
mod tests;

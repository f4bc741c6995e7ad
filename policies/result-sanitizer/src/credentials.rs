//! Finding credentials in a text.
//!
//! One automaton finds fixed parts (prefixes, names, schemes); each hit is then looked at in a bounded window, so the
//! time is linear in the length of the text.

mod alphabet;
mod assignment;
mod discord;
mod header;
mod jwt;
mod pack;
mod private_key;
mod shape;
#[cfg(test)]
mod tests;
mod userinfo;
mod value;

use std::ops::Range;

use portcullis_text::automaton::{Automaton, AutomatonError};

pub(crate) use pack::Pack;
use pack::Token;

/// How much must speak for a credential before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Errors, log lines: whatever stands behind a name like `token=` goes. A lost word costs little there.
    Eager,
    /// Results: the value must look like a credential, for documents and code speak of tokens all the time.
    Careful,
}

/// A credential that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    /// Bytes of the secret itself, without the name before it.
    pub(crate) range: Range<usize>,
    /// A declared rule.
    pub(crate) rule: &'static str,
    /// What kind of credential, for the operator.
    pub(crate) name: String,
}

/// What a hit of the automaton begins.
#[derive(Clone, Copy, Debug)]
enum Cue {
    /// The fixed part of the token rule with that index.
    Token(usize),
    /// A name whose value may be secret.
    Name,
    /// `bearer`, `basic`, `authorization`.
    Header,
    /// The beginning of a number in base64.
    Discord,
    /// `://`
    Url,
    /// `-----BEGIN `
    Pem,
    /// `Private-Lines: `
    Putty,
    /// `eyJ`
    Jwt,
    /// ` -u `, `--user `
    Curl,
}

/// The compiled rules.
#[derive(Debug)]
pub(crate) struct Credentials {
    automaton: Automaton,
    cues: Vec<(Cue, String)>,
    tokens: Vec<Token>,
    names: assignment::Names,
}

/// A pack that cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    /// A token rule has neither or both of prefixes and infix, or an empty one.
    #[error("token `{0}` needs prefixes or an infix, not both and not empty ones")]
    Fixed(String),
    /// The automaton does not fit.
    #[error("the fixed parts do not fit an automaton")]
    Automaton(#[source] AutomatonError),
}

impl Credentials {
    /// Compiles a pack.
    pub(crate) fn compile(pack: Pack) -> Result<Self, CompileError> {
        let mut cues: Vec<(Cue, String)> = Vec::new();
        for (index, token) in pack.tokens.iter().enumerate() {
            let fixed: Vec<&String> = token.prefixes.iter().chain(&token.infix).collect();
            if fixed.is_empty()
                || fixed.iter().any(|part| part.is_empty())
                || (token.infix.is_some() && !token.prefixes.is_empty())
            {
                return Err(CompileError::Fixed(token.name.clone()));
            }
            cues.extend(fixed.into_iter().map(|part| (Cue::Token(index), part.clone())));
        }
        cues.extend(discord::beginnings().map(|beginning| (Cue::Discord, beginning)));
        let names = assignment::Names::new(&pack);
        cues.extend(names.stems().map(|stem| (Cue::Name, stem.to_owned())));
        let fixed = [
            (Cue::Header, "bearer "),
            (Cue::Header, "basic "),
            (Cue::Header, "authorization"),
            (Cue::Url, "://"),
            (Cue::Pem, "-----begin "),
            (Cue::Putty, "private-lines: "),
            (Cue::Jwt, "eyj"),
            (Cue::Curl, " -u "),
            (Cue::Curl, "--user "),
        ];
        cues.extend(fixed.map(|(cue, text)| (cue, text.to_owned())));
        let automaton = Automaton::new(cues.iter().map(|(_, text)| text)).map_err(CompileError::Automaton)?;
        Ok(Self { automaton, cues, tokens: pack.tokens, names })
    }

    /// Finds the credentials of `text`, in order and without overlap.
    pub(crate) fn scan(&self, text: &str, strictness: Strictness) -> Vec<Secret> {
        let mut found = Vec::new();
        self.automaton.find_all(text.as_bytes(), |index, range| {
            let Some((cue, fixed)) = self.cues.get(index) else { return };
            let secret = match cue {
                Cue::Token(index) => self.tokens.get(*index).and_then(|token| shape::look(text, range, fixed, token)),
                Cue::Name => assignment::look(text, range, &self.names, strictness),
                Cue::Header => header::look(text, range, strictness),
                Cue::Discord => discord::look(text, range, fixed),
                Cue::Url => userinfo::look(text, range, strictness),
                Cue::Pem => private_key::look(text, range),
                Cue::Putty => private_key::look_putty(text, range),
                Cue::Jwt => jwt::look(text, range),
                Cue::Curl => header::look_curl(text, range),
            };
            found.extend(secret);
        });
        separate(found)
    }

    /// Judges a whole text that is the value of a member called `name`.
    pub(crate) fn member(&self, name: &str, text: &str, strictness: Strictness) -> Option<Secret> {
        assignment::member(name, text, &self.names, strictness)
    }
}

/// Orders what was found and joins overlaps: the first name wins, the range covers both.
fn separate(mut found: Vec<Secret>) -> Vec<Secret> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by(|left, right| (left.range.start, right.range.end).cmp(&(right.range.start, left.range.end)));
    let mut apart: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match apart.last_mut() {
            Some(last) if secret.range.start < last.range.end => last.range.end = last.range.end.max(secret.range.end),
            _ => apart.push(secret),
        }
    }
    apart
}

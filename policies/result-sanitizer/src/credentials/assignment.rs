//! Names with a value: `token=…`, `"apiKey": "…"`, `--password …`, `<secret>…</secret>`.

use std::collections::BTreeSet;
use std::ops::Range;

use super::pack::Pack;
use super::{Secret, Strictness, value};
use crate::rules;

/// Longest value that is looked at. Longer ones are data, and their credentials have shapes of their own.
const LONGEST: usize = 512;

/// Names are shorter; what stands further left is no part of one.
const LONGEST_NAME: usize = 64;
/// Blanks around an assignment sign; more is a table or another sentence.
const BLANKS: usize = 16;

/// Names whose value is a credential.
#[derive(Debug)]
pub(super) struct Names {
    secrets: BTreeSet<String>,
    owners: BTreeSet<String>,
    random: BTreeSet<String>,
    services: BTreeSet<String>,
}

/// How a name was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Password,
    Token,
    /// `key` with no word before it that makes it a credential.
    BareKey,
    /// Another name that says little.
    Random,
    /// A service.
    Service,
}

impl Names {
    pub(super) fn new(pack: &Pack) -> Self {
        let lower = |words: &[String]| words.iter().map(|word| word.to_ascii_lowercase()).collect();
        Self {
            secrets: lower(&pack.secret_names),
            owners: lower(&pack.key_owners),
            random: lower(&pack.random_names),
            services: lower(&pack.services),
        }
    }

    /// What the automaton looks for. Of several that end at one place the longest name decides for all.
    pub(super) fn stems(&self) -> impl Iterator<Item = &str> {
        [&self.secrets, &self.random, &self.services].into_iter().flatten().map(String::as_str).chain(["key"])
    }

    /// Recognises a whole name: its last word decides.
    fn recognise(&self, name: &str) -> Option<Named> {
        let words = words(name);
        let last = words.last()?.as_str();
        let before = words.len().checked_sub(2).and_then(|index| words.get(index)).map_or("", String::as_str);
        if self.secrets.contains(last) {
            // What counts or names a secret is none: `max_token`, `csrf token` of a form, `secret name`.
            return match last {
                "password" | "passwd" | "passwort" | "pwd" | "passphrase" | "psk" | "secret" | "credential"
                | "credentials" => Some(Named::Password),
                _ => Some(Named::Token),
            };
        }
        if last == "key" {
            return if self.owners.contains(before) { Some(Named::Token) } else { Some(Named::BareKey) };
        }
        if self.random.contains(last) {
            return Some(Named::Random);
        }
        self.services.contains(last).then_some(Named::Service)
    }
}

/// Cuts `apiKey`, `API_KEY` and `x-api-key` into lowercase words.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous_lower = false;
    let mut open = false;
    for character in name.chars() {
        if !character.is_ascii_alphanumeric() {
            open = false;
            continue;
        }
        let hump = character.is_ascii_uppercase() && previous_lower;
        previous_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        if open
            && !hump
            && let Some(last) = words.last_mut()
        {
            last.push(character.to_ascii_lowercase());
        } else {
            words.push(character.to_ascii_lowercase().to_string());
        }
        open = true;
    }
    words
}

/// Looks at a hit of a name's stem.
pub(super) fn look(text: &str, hit: Range<usize>, names: &Names, strictness: Strictness) -> Option<Secret> {
    let bytes = text.as_bytes();
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let next = bytes.get(hit.end).copied().unwrap_or_default();
    // A bare name before a closing bracket is an index or the host's own marker, whose rule may be called like this.
    if in_name(&next) || next == b']' {
        return None;
    }
    let left = bytes.get(..hit.start)?.iter().rev().take(LONGEST_NAME).take_while(|byte| in_name(byte)).count();
    let kind = names.recognise(text.get(hit.start - left..hit.end)?)?;
    let start = hit.start - left;
    let spoken = text.get(start..)?.starts_with("--") || follows_login(text.get(..start)?);
    let range = value_range(bytes, hit.end, spoken)?;
    judged(text, range, kind, strictness)
}

/// Judges the whole value of a member.
pub(super) fn member(name: &str, text: &str, names: &Names, strictness: Strictness) -> Option<Secret> {
    let kind = names.recognise(name)?;
    if text.len() > LONGEST || text.contains(char::is_whitespace) {
        return None;
    }
    judged(text, 0..text.len(), kind, strictness)
}

fn judged(text: &str, range: Range<usize>, named: Named, strictness: Strictness) -> Option<Secret> {
    let value = text.get(range.clone())?;
    let taken = match (strictness, named) {
        // What such names say in an error is mostly no secret, but a long random value is.
        (Strictness::Eager, Named::Service | Named::Random) => is_random(value),
        (Strictness::Eager, _) => !value.is_empty() && !value::is_placeholder(value),
        (Strictness::Careful, Named::Password) => value::is_plausible(value, true),
        (Strictness::Careful, Named::Token) => value::is_plausible(value, false),
        (Strictness::Careful, Named::BareKey | Named::Random) => is_random(value) && value::entropy(value) >= 3.5,
        (Strictness::Careful, Named::Service) => is_random(value) && !value.contains('.'),
    };
    taken.then(|| Secret { range, rule: rules::credentials::ASSIGNMENT, name: "value of a secret name".to_owned() })
}

/// True for what nobody types: long, random, with digits.
fn is_random(value: &str) -> bool {
    value.len() >= 20 && value::is_plausible(value, false) && value::entropy(value) >= 3.0
}

/// True behind `login NAME `, as in a netrc file.
fn follows_login(before: &str) -> bool {
    let tail = before.get(before.floor_char_boundary(before.len().saturating_sub(LONGEST_NAME))..).unwrap_or_default();
    let mut words = tail.split_ascii_whitespace().rev();
    words.next().is_some() && words.next() == Some("login")
}

/// Returns where the value behind a name stands: behind `=`, `:`, `=>`, `:=`, a closing tag bracket, the attribute `value`,
/// or a blank after an option of a command line. Quotes and their escapes around name and value are stepped over.
fn value_range(bytes: &[u8], from: usize, spoken: bool) -> Option<Range<usize>> {
    let at = |offset: usize| bytes.get(offset).copied().unwrap_or_default();
    let skip = |mut offset: usize, wanted: fn(u8) -> bool| {
        while wanted(at(offset)) {
            offset += 1;
        }
        offset
    };
    let named = skip(from, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']'));
    let sign = skip(named, |byte| matches!(byte, b' ' | b'\t'));
    if sign - named > BLANKS {
        return None;
    }
    let attribute = named > from && bytes.get(sign..).is_some_and(|rest| rest.starts_with(b"value="));
    let start = match at(sign) {
        b'v' if attribute => sign + b"value=".len(),
        b'=' | b':' => skip(sign, |byte| matches!(byte, b'=' | b':' | b'>')),
        b'>' if sign == from => sign + 1,
        _ if spoken && sign > named => sign,
        _ => return None,
    };
    let blank = skip(start, |byte| matches!(byte, b' ' | b'\t'));
    if blank - start > BLANKS {
        return None;
    }
    let open = skip(blank, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`'));
    let quote = (open > blank).then(|| at(open - 1));
    let rest = bytes.get(open..bytes.len().min(open + LONGEST))?;
    let length = match quote {
        Some(quote) => rest.iter().take_while(|byte| **byte != quote && !matches!(byte, b'\n' | b'\r' | b'\\')).count(),
        None => rest
            .iter()
            .take_while(|byte| {
                !byte.is_ascii_whitespace()
                    && !matches!(byte, b'&' | b',' | b';' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
            })
            .count(),
    };
    // A mark behind a bare value belongs to the sentence or the brackets around it.
    let marks = |byte: &&u8| quote.is_none() && matches!(byte, b')' | b']' | b'}' | b'.' | b':');
    let length = length - rest.get(..length)?.iter().rev().take_while(marks).count();
    // A cut inside a character of several bytes would be no range of the text.
    let end = open + length;
    let whole = bytes.get(end).is_none_or(|byte| *byte & 0xC0 != 0x80);
    (length > 0 && whole).then_some(open..end)
}

//! The leaves of a text that holds structured data.

use std::borrow::Cow;

use portcullis_model::json::{Value, parse_str};

/// A key of a layout has so many bytes and words at most; a sentence that ends with a colon is none.
const LONGEST_KEY: usize = 60;
const MOST_WORDS: usize = 3;

/// A string that is compared on its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leaf<'a> {
    pub(super) text: Cow<'a, str>,
    /// True for a leaf of structured data, false for a text that is none.
    pub(super) structured: bool,
}

impl<'a> Leaf<'a> {
    fn structured(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: text.into(), structured: true }
    }
}

/// Takes a text apart: the leaves of JSON, of a text that is wholly laid out as YAML, or a single word as a leaf of its
/// own; else the text as one. `structured` says that it is a leaf already.
///
/// A text of which one line does not fit is prose as a whole. Otherwise whoever writes into a page could give a sentence
/// the looks of a field.
pub(super) fn leaves(text: &str, structured: bool) -> Vec<Leaf<'_>> {
    let trimmed = text.trim();
    if structured {
        return vec![Leaf::structured(text)];
    }
    if trimmed.starts_with(['{', '['])
        && let Ok(value) = parse_str(trimmed)
    {
        let mut leaves = Vec::new();
        walk(&value, &mut leaves);
        return leaves;
    }
    if !trimmed.contains(char::is_whitespace) {
        return vec![Leaf::structured(text)];
    }
    lines(trimmed).unwrap_or_else(|| vec![Leaf { text: Cow::Borrowed(text), structured: false }])
}

/// Collects the leaves of a value; the parser bounds its depth.
fn walk(value: &Value, leaves: &mut Vec<Leaf<'_>>) {
    match value {
        Value::String(text) => leaves.push(Leaf::structured(text.clone())),
        Value::Number(number) => leaves.push(Leaf::structured(number.as_str().to_owned())),
        Value::Array(items) => items.iter().for_each(|item| walk(item, leaves)),
        Value::Object(object) => object.iter().for_each(|(name, member)| {
            if is_address(name) {
                leaves.push(Leaf::structured(name.to_owned()));
            }
            walk(member, leaves);
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

/// A line of a layout.
struct Line<'a> {
    indent: usize,
    /// Who or what the value is of, where the key says so.
    address: Option<&'a str>,
    value: &'a str,
}

/// Reads `key: value`, `- value` and `- key: value`.
fn line(text: &str) -> Option<Line<'_>> {
    let rest = text.trim_start_matches(' ');
    let indent = text.len() - rest.len();
    let (mut rest, mut is_item) = (rest, false);
    while let Some(inner) = rest.strip_prefix("- ").or_else(|| rest.strip_prefix('-').filter(|inner| inner.is_empty()))
    {
        (rest, is_item) = (inner.trim_start_matches(' '), true);
    }
    let (address, value) = match key(rest) {
        Some((key, value)) => (is_address(key).then_some(key), value),
        None => (None, is_item.then_some(rest)?),
    };
    Some(Line { indent, address, value: value.trim() })
}

/// Returns true for a key that is a mail address, as where rights are listed by person: it is data, not the name of data.
fn is_address(key: &str) -> bool {
    let parts = key.split_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.')) && !key.contains(char::is_whitespace)
}

/// Returns a key and what follows it.
fn key(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let begins = value.is_empty() || value.starts_with([' ', '\r']);
    let bare = key.trim_matches(['"', '\'']);
    let words = bare.split(' ').count();
    let fits =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | ' ' | '.' | '-' | '/' | '@' | '+');
    (begins && !bare.is_empty() && bare.len() <= LONGEST_KEY && words <= MOST_WORDS && bare.chars().all(fits))
        .then_some((bare, value))
}

/// Takes a text apart that is laid out as YAML, quoted and block texts over several lines included.
fn lines(text: &str) -> Option<Vec<Leaf<'_>>> {
    let mut leaves: Vec<Leaf<'_>> = Vec::new();
    let mut rest = text.split('\n').peekable();
    let mut read = 0;
    // Where the last value was plain, lines that stand deeper continue it.
    let mut open: Option<usize> = None;
    while let Some(text) = rest.next() {
        if text.trim().is_empty() {
            continue;
        }
        let indent = text.len() - text.trim_start_matches(' ').len();
        let Some(Line { indent, address, value }) = line(text) else {
            let last = leaves.last_mut().filter(|_| open.is_some_and(|depth| indent > depth))?;
            let joined = last.text.to_mut();
            joined.push(' ');
            joined.push_str(text.trim());
            continue;
        };
        read += 1;
        open = None;
        leaves.extend(address.map(Leaf::structured));
        if let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'')) {
            let mut held = value.get(1..).unwrap_or_default().to_owned();
            while !is_closed(&held, quote) {
                held.push('\n');
                held.push_str(rest.next()?);
            }
            leaves.push(Leaf::structured(unquoted(&held, quote)));
        } else if value.starts_with(['|', '>']) && value.len() <= 3 {
            let mut held = String::new();
            while let Some(inner) =
                rest.next_if(|next| next.trim().is_empty() || next.starts_with(&" ".repeat(indent + 1)))
            {
                held.push_str(inner);
                held.push('\n');
            }
            leaves.push(Leaf::structured(held));
        } else {
            open = Some(indent);
            leaves.push(Leaf::structured(value));
        }
    }
    (read >= 2).then_some(leaves)
}

/// Returns true where a quoted text ends here.
fn is_closed(held: &str, quote: char) -> bool {
    let text = held.trim_end().trim_end_matches(',');
    let Some(inner) = text.strip_suffix(quote) else {
        return false;
    };
    // A quote that is escaped, by a backslash or by being doubled, ends nothing.
    let escape = if quote == '"' { '\\' } else { quote };
    let escapes = inner.len() - inner.trim_end_matches(escape).len();
    escapes % 2 == 0
}

/// Returns what a quoted text says; what cannot be told apart from white space becomes white space.
fn unquoted(held: &str, quote: char) -> String {
    let text = held.trim_end().trim_end_matches(',');
    let inner = text.strip_suffix(quote).unwrap_or(text);
    if quote == '\'' {
        return inner.replace("''", "'");
    }
    let mut plain = String::with_capacity(inner.len());
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            // A line that is continued: its break and the indent of the next one are no part of the text.
            Some('\n') => while characters.next_if(|next| next.is_whitespace()).is_some() {},
            Some('n' | 'r' | 't') => plain.push(' '),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

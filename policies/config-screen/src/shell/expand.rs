//! Variables and substitutions.

use super::cursor::Cursor;
use super::{Variables, parse, static_output};

/// What stands for itself after expansion.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    pub(super) text: String,
    pub(super) unresolved: bool,
    /// The script of a substitution, to be judged by itself.
    pub(super) inner: Option<String>,
}

/// Expands what follows a dollar sign.
pub(super) fn dollar(cursor: &mut Cursor, variables: &Variables, depth: usize) -> Expansion {
    match cursor.peek() {
        Some('(') if cursor.ahead(1) == Some('(') => {
            cursor.next();
            let _: Option<String> = cursor.balanced('(', ')');
            Expansion { text: "0".to_owned(), unresolved: true, inner: None }
        }
        Some('(') => {
            cursor.next();
            substitution(cursor.balanced('(', ')'), variables, depth)
        }
        Some('{') => {
            cursor.next();
            braced(&cursor.balanced('{', '}').unwrap_or_default(), variables)
        }
        Some(one) if one.is_ascii_alphabetic() || one == '_' => {
            let name = cursor.take_while(|one| one.is_ascii_alphanumeric() || one == '_');
            value(&name, variables)
        }
        Some(one) if one.is_ascii_digit() || "@*#?!$-".contains(one) => {
            cursor.next();
            value(&one.to_string(), variables)
        }
        Some(_) | None => Expansion { text: "$".to_owned(), ..Expansion::default() },
    }
}

/// Expands a substitution. Its script is handed on, and where its output can be worked out that is put in.
pub(super) fn substitution(script: Option<String>, variables: &Variables, depth: usize) -> Expansion {
    let Some(script) = script else {
        return Expansion { unresolved: true, ..Expansion::default() };
    };
    let output = if depth == 0 { None } else { static_output(&parse::nested(&script, variables, depth - 1).commands) };
    Expansion { unresolved: output.is_none(), text: output.unwrap_or_default(), inner: Some(script) }
}

fn value(name: &str, variables: &Variables) -> Expansion {
    match (variables.get(name), name) {
        (Some(value), _) => Expansion { text: value.clone(), ..Expansion::default() },
        (None, "IFS") => Expansion { text: " ".to_owned(), ..Expansion::default() },
        (None, "HOME") => Expansion { text: "~".to_owned(), ..Expansion::default() },
        // Positional parameters that were not given are empty, and so are the tricks that use them as glue.
        (None, "@" | "*" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9") => Expansion::default(),
        (None, _) => Expansion { unresolved: true, ..Expansion::default() },
    }
}

/// Expands `${…}`: plain, with a default, with an offset and length; other operators give the value as it is.
fn braced(content: &str, variables: &Variables) -> Expansion {
    let content = content.strip_prefix(['!', '#']).unwrap_or(content);
    let end = content.find(|one: char| !(one.is_ascii_alphanumeric() || one == '_')).unwrap_or(content.len());
    let (name, operator) = content.split_at(end);
    if name.is_empty() {
        return value(content.get(..1).unwrap_or_default(), variables);
    }
    if let Some(end) = operator.find(']').filter(|_| operator.starts_with('[')) {
        let element = format!("{name}{}", operator.get(..=end).unwrap_or_default());
        return value(&element, variables);
    }
    let known = value(name, variables);
    let default = [":-", ":=", "-", "="].iter().find_map(|mark| operator.strip_prefix(mark));
    if let Some(default) = default {
        let set = !known.unresolved && !known.text.is_empty();
        return if set { known } else { Expansion { text: default.to_owned(), ..Expansion::default() } };
    }
    match operator.strip_prefix(':').map(|range| range.split_once(':').unwrap_or((range, ""))) {
        Some((offset, length)) if !known.unresolved => {
            let offset = offset.trim().parse().unwrap_or(0);
            let length = length.trim().parse().unwrap_or(usize::MAX);
            Expansion { text: known.text.chars().skip(offset).take(length).collect(), ..known }
        }
        Some(_) | None => known,
    }
}

//! Tokens of Discord bots: the bot's numeric id in base64, a dot, a time, a dot, a signature.

use std::ops::Range;

use super::alphabet::Alphabet;
use super::{Secret, value};
use crate::rules;

/// Beginnings of base64 of a decimal number: three digits give `[MNO][DTjz][AEIMQUYcgk]`.
pub(super) fn beginnings() -> impl Iterator<Item = String> {
    let second = "DTjz".chars();
    "MNO".chars().flat_map(move |first| {
        second
            .clone()
            .flat_map(move |second| "AEIMQUYcgk".chars().map(move |third| String::from_iter([first, second, third])))
    })
}

/// Looks at a hit of a beginning.
pub(super) fn look(text: &str, hit: Range<usize>, fixed: &str) -> Option<Secret> {
    /// Id, time and signature with their dots: at most 28, 7 and 40 characters.
    const LONGEST: usize = 80;
    if text.get(hit.clone())? != fixed || !value::begins_word(text.as_bytes(), hit.start) {
        return None;
    }
    let rest = text.as_bytes().get(hit.start..text.len().min(hit.start + LONGEST))?;
    let length = rest.iter().take_while(|byte| Alphabet::Dotted.has(**byte)).count();
    let token = text.get(hit.start..hit.start + length)?.trim_end_matches('.');
    let parts: Vec<usize> = token.split('.').map(str::len).collect();
    let fits = matches!(parts.as_slice(), [23..=28, 6..=7, 27..=40]);
    fits.then(|| Secret {
        range: hit.start..hit.start + token.len(),
        rule: rules::credentials::TOKEN,
        name: "Discord bot token".to_owned(),
    })
}

//! Words of names and sentences.

use std::borrow::Cow;

use portcullis_text::hidden;
use portcullis_text::normal::Normal;

/// Splits a text into small-letter words, as a reader takes them, look-alikes and digits in the place of letters resolved: parted by separators and before the capitals of camel case, digits at either end cut off. Letters that
/// stand alone in a row are one word: `p a s s`.
pub(super) fn words(text: &str) -> Vec<String> {
    let seen = seen(text);
    let normal = Normal::new(&seen);
    let mut words: Vec<String> = Vec::new();
    let mut alone: usize = 0;
    for raw in normal.text().split(|character: char| !part(character)) {
        for hump in humps(raw) {
            let word: String = hump
                .trim_matches(|character: char| !character.is_alphabetic())
                .chars()
                .filter(|character| !matches!(character, '\'' | '’'))
                .flat_map(char::to_lowercase)
                .map(letter)
                .collect();
            if word.is_empty() {
                continue;
            }
            let single = word.chars().nth(1).is_none();
            alone = if single { alone.saturating_add(1) } else { 0 };
            match words.last_mut() {
                Some(last) if alone > 1 => last.push_str(&word),
                Some(_) | None => words.push(word),
            }
        }
    }
    words
}

/// What a person sees of a text: a form is read by one.
fn seen(text: &str) -> Cow<'_, str> {
    let hidden = hidden::scan(text);
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len());
    let mut from = 0;
    for run in hidden {
        seen.push_str(text.get(from..run.start).unwrap_or_default());
        from = run.end;
    }
    seen.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(seen)
}

/// Characters that belong to a word, with those that are put in the place of a letter.
fn part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '@' | '$' | '!' | '€' | '\'' | '’')
}

/// The letter for which a digit or a sign is put.
fn letter(character: char) -> char {
    match character {
        '4' | '@' => 'a',
        '3' | '€' => 'e',
        '1' | '!' => 'i',
        '0' => 'o',
        '5' | '$' => 's',
        '7' => 't',
        _ => character,
    }
}

/// Splits before a capital that follows a small letter, and before the last of several capitals that a small letter follows.
fn humps(word: &str) -> Vec<&str> {
    let mut humps = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut characters = word.char_indices().peekable();
    while let Some((index, here)) = characters.next() {
        let after = characters.peek().map(|(_, after)| *after);
        let ends_small = before.is_some_and(char::is_lowercase);
        let ends_capitals = before.is_some_and(char::is_uppercase) && after.is_some_and(char::is_lowercase);
        if here.is_uppercase() && (ends_small || ends_capitals) {
            humps.extend(word.get(start..index));
            start = index;
        }
        before = Some(here);
    }
    humps.extend(word.get(start..));
    humps
}

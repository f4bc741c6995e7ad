//! Words of names and sentences.

use portcullis_text::normal::Normal;

/// Splits a text into small-letter words, as a reader takes them, look-alikes and digits in the place of letters resolved: parted by separators and before the capitals of camel case, digits at either end cut off. Letters that
/// stand alone in a row are one word: `p a s s`.
pub(super) fn words(text: &str) -> Vec<String> {
    let normal = Normal::new(text);
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
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let mut humps = Vec::new();
    let mut start = 0;
    for window in characters.windows(3) {
        if let [(_, before), (index, here), (_, after)] = window
            && here.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && after.is_lowercase()))
        {
            humps.extend(word.get(start..*index));
            start = *index;
        }
    }
    humps.extend(word.get(start..));
    humps
}

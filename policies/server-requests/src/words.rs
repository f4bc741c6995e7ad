//! Words that name a secret, however they are written.

mod split;

use split::words;

/// Words that name a secret in names and in sentences.
const SECRETS: [&str; 20] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "ssn",
    "passwort",
    "kennwort",
    "contrasena",
    "senha",
    "пароль",
];

/// Words that name a secret only as the name of a field: in sentences they mean other things.
const SECRETS_IN_NAMES: [&str; 2] = ["pin", "token"];

/// Two words in a row that name a secret.
const PAIRS: [(&str, &str); 30] = [
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("ssh", "key"),
    ("access", "token"),
    ("auth", "token"),
    ("api", "token"),
    ("bearer", "token"),
    ("refresh", "token"),
    ("session", "token"),
    ("id", "token"),
    ("personal", "token"),
    ("recovery", "code"),
    ("backup", "code"),
    ("verification", "code"),
    ("security", "code"),
    ("authentication", "code"),
    ("login", "code"),
    ("mfa", "code"),
    ("time", "code"),
    ("sms", "code"),
    ("seed", "phrase"),
    ("recovery", "phrase"),
    ("card", "number"),
    ("social", "security"),
    ("session", "cookie"),
    ("authorization", "header"),
];

/// Parts of a name that was written without any border between its words.
const RUN_TOGETHER: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "accesstoken",
    "authtoken",
    "clientsecret",
];

/// Words of languages that put no space between words.
const UNSPACED: [&str; 6] = ["密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호"];

/// Words before or after which another word is a setting about secrets, not a secret: `max_tokens`, `password_policy`.
const ABOUT: [&str; 26] = [
    "max",
    "min",
    "maximum",
    "minimum",
    "num",
    "page",
    "next",
    "previous",
    "continuation",
    "cancel",
    "progress",
    "sync",
    "count",
    "limit",
    "budget",
    "type",
    "usage",
    "window",
    "policy",
    "length",
    "strength",
    "expiry",
    "rotation",
    "rules",
    "requirements",
    "per",
];

/// Verbs that ask somebody to hand something over.
const ASKING: [&str; 18] = [
    "enter", "type", "provide", "give", "paste", "input", "supply", "send", "submit", "tell", "share", "confirm",
    "need", "needs", "require", "requires", "insert", "write",
];

/// Words that turn the verb after them into its opposite.
const NEGATIONS: [&str; 4] = ["not", "never", "dont", "cannot"];

/// What of a secret may be asked for without the secret itself, where `for` or `of` follows: "a name for the new API key".
const FACETS: [&str; 10] =
    ["name", "title", "label", "identifier", "description", "scope", "expiry", "owner", "purpose", "length"];

/// How many words may stand between such a `for` or `of` and the secret: "the name of your pet and your password" asks for both.
const FACET_REACH: usize = 3;

/// How many words may stand between the verb and the secret: "enter the token of your team account's password".
const REACH: usize = 8;

/// A text of at most so many words is a name, even where it stands as a description.
const SHORT: usize = 4;

/// The words that name a secret, those of the settings included.
#[derive(Debug)]
pub(crate) struct SecretWords {
    singles: Vec<String>,
}

impl SecretWords {
    pub(crate) fn new(further: &[String]) -> Self {
        let singles = SECRETS.iter().copied().chain(further.iter().map(String::as_str)).flat_map(words).collect();
        Self { singles }
    }

    /// Returns true if a name or a title is that of a secret.
    pub(crate) fn name(&self, name: &str) -> bool {
        let words = words(name);
        // A word of the list of words is judged by its neighbours below.
        let longer =
            |word: &String| !self.singles.contains(word) && RUN_TOGETHER.iter().any(|part| word.contains(part));
        if words.iter().any(longer) {
            return true;
        }
        unspaced(name) || (0..words.len()).any(|index| self.names_secret(&words, index, true))
    }

    /// Returns true if a text asks for a secret, or is as short as a name and is that of one.
    pub(crate) fn request(&self, text: &str) -> bool {
        let words = words(text);
        if unspaced(text) || (words.len() <= SHORT && self.name(text)) {
            return true;
        }
        (0..words.len()).filter(|index| self.names_secret(&words, *index, false)).any(|index| asked(&words, index))
    }

    fn names_secret(&self, words: &[String], index: usize, name: bool) -> bool {
        let word = |index: Option<usize>| index.and_then(|index| words.get(index)).map_or("", String::as_str);
        let (before, here, after) = (word(index.checked_sub(1)), word(Some(index)), word(index.checked_add(1)));
        if ABOUT.contains(&before) || ABOUT.contains(&after) {
            return false;
        }
        self.singles.iter().any(|single| single == here)
            || (name && SECRETS_IN_NAMES.contains(&here))
            || PAIRS.contains(&(before, here))
    }
}

fn unspaced(text: &str) -> bool {
    UNSPACED.iter().any(|word| text.contains(word))
}

/// Returns true if one of the words before asks for what stands at the index.
fn asked(words: &[String], index: usize) -> bool {
    let first = index.saturating_sub(REACH);
    let reach = words.get(first..index).unwrap_or_default();
    reach.iter().enumerate().any(|(offset, word)| {
        let before = (first + offset).checked_sub(1).and_then(|before| words.get(before));
        let negated = before.is_some_and(|before| NEGATIONS.contains(&before.as_str()));
        ASKING.contains(&word.as_str()) && !negated && !asks_for_facet(reach.get(offset..).unwrap_or_default())
    })
}

/// Returns true if the words from a verb to a secret ask for something about the secret.
fn asks_for_facet(words: &[String]) -> bool {
    let last = words.len().saturating_sub(FACET_REACH + 2);
    words.get(last..).unwrap_or_default().windows(2).any(
        |pair| matches!(pair, [facet, of] if FACETS.contains(&facet.as_str()) && matches!(of.as_str(), "for" | "of")),
    )
}

#[cfg(test)]
mod tests;

//! What a secret looks like.

/// Words in the name of a variable, header, flag or parameter that what stands under it is a secret.
const NAMES: [&str; 16] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "credential",
    "credentials",
    "authorization",
    "auth",
    "cookie",
    "pat",
    "dsn",
    "bearer",
    "privatekey",
    "accesskey",
];

/// Words of two parts, in the same names.
const PAIRS: [(&str, &str); 7] = [
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("subscription", "key"),
    ("connection", "string"),
    ("database", "url"),
];

/// Beginnings of the tokens of well-known services.
const PREFIXES: [&str; 30] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "npm_",
    "pypi-",
    "hf_",
    "lin_api_",
    "ntn_",
    "secret_",
    "figd_",
    "dckr_pat_",
    "sbp_",
    "shpat_",
];

/// Shortest token of those services.
const SHORTEST_TOKEN: usize = 16;

/// A text without words that is at least so long and mixes letters and digits is taken for a key.
const SHORTEST_RANDOM: usize = 32;

/// Returns true where a name says that a secret stands under it.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let has = |word: &str| words.iter().any(|known| known == word);
    NAMES.iter().any(|word| has(word))
        || words.windows(2).any(|pair| PAIRS.iter().any(|(first, second)| pair == [*first, *second]))
        || words.last().is_some_and(|last| last == "key") && words.len() > 1
}

/// Splits a name at what is no letter or digit and where a small letter meets a capital.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut word, mut was_small) = (Vec::new(), String::new(), false);
    for one in name.chars() {
        if (!one.is_alphanumeric() || (one.is_uppercase() && was_small)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        was_small = one.is_lowercase();
        if one.is_alphanumeric() {
            word.extend(one.to_lowercase());
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Returns true for a text that is the token of a well-known service, a key, or an address with a password.
pub(super) fn has_secret_form(text: &str) -> bool {
    let is_token = |text: &str| {
        text.len() >= SHORTEST_TOKEN
            && !text.contains([' ', '/'])
            && PREFIXES.iter().any(|prefix| text.starts_with(prefix))
    };
    let has_password = || url::Url::parse(text).is_ok_and(|url| url.password().is_some_and(|word| !word.is_empty()));
    is_token(text) || is_random(text) || text.starts_with("-----BEGIN") || has_password()
}

fn is_random(text: &str) -> bool {
    let is_key = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '+' | '=');
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    // Words between hyphens are names of packages and models.
    let longest_run = text.split(['-', '_']).map(str::len).max().unwrap_or_default();
    text.len() >= SHORTEST_RANDOM && text.chars().all(is_key) && digits >= 4 && letters >= 4 && longest_run >= 20
}

/// Returns true for the scheme of an authorization (RFC 9110 §11.1) that a secret follows.
pub(super) fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "apikey", "digest", "negotiate"].contains(&word.to_ascii_lowercase().as_str())
}

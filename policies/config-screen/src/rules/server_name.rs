//! `server-name`

use portcullis_sdk::Severity;
use portcullis_sdk::serde_json::Value;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks at the name of a server, which becomes a part of every tool's name and is shown to model and people: characters that are
/// not seen, letters of several alphabets, words for a model, the form of published names, ways to other folders.
///
/// # Why
/// A name is read by the model before anything else of a server is.
///
/// # Example
/// ```yaml
/// "mcp__github__create_issue": {command: node, args: [s.js]}
/// ```
pub(super) const RULE: RuleSpec =
    RuleSpec { id: "server-name", summary: "A name that misleads model or people.", severity: Severity::High, check };

/// Longest name that leaves room for names of tools.
const LONGEST: usize = 128;

/// Speakers of a conversation, and the gateway itself.
const TAKEN: [&str; 8] = ["system", "developer", "assistant", "human", "user", "operator", "admin", "portcullis"];

fn check(context: &Context<'_>, hits: &mut Hits) {
    let name = context.entry.name.as_str();
    let lower = name.to_lowercase();
    if name.chars().any(|one| one.is_control() || is_invisible(one)) {
        hits.deny("the name has characters that are not seen", "");
    }
    let document: Value = portcullis_sdk::serde_json::from_str(&context.entry.document).unwrap_or_default();
    let titled = document.get("name").and_then(Value::as_str).unwrap_or_default();
    if [name, titled].into_iter().any(is_taken_apart) {
        hits.ask("the name has characters that a shell takes apart", titled);
    }
    if mixes_alphabets(name) {
        hits.ask("the name mixes letters of several alphabets", "");
    }
    if lower.starts_with("mcp__") || lower.contains("__") && lower.matches("__").count() > 1 {
        hits.ask("the name has the form of a published tool", "");
    }
    if name.contains("..") && name.contains(['/', '\\']) {
        hits.ask("the name leads to another folder", "");
    }
    if name.chars().count() > LONGEST {
        hits.ask("the name is longer than names are", "");
    }
    if TAKEN.contains(&lower.trim()) {
        hits.ask("the name is that of a speaker or of the gateway", "");
    }
    let claims = |word: &str| matches!(word, "verified" | "certified" | "trusted");
    if lower.split(|one: char| !one.is_alphanumeric()).any(claims) {
        hits.ask("the name claims what nobody has checked", "");
    }
    let speaks = context.tables.phrases.iter().any(|phrase| lower.contains(phrase.as_str()))
        || lower.starts_with("ignore ")
        || lower.contains(" instructions");
    if speaks {
        hits.ask("the name speaks to a model", "");
    }
}

/// Characters without a shape of their own: they hide text or split words.
pub(super) fn is_invisible(one: char) -> bool {
    matches!(
        u32::from(one),
        0xad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x202a..=0x202e
            | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0e | 0xfeff | 0xffa0 | 0xe0000..=0xe0fff
    )
}

/// Returns true where a name has what shells give a meaning to. Brackets around a remark, with a space before them, are honest.
fn is_taken_apart(name: &str) -> bool {
    let glued = |(at, _): (usize, &str)| name.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    name.contains(['&', '|', '<', '>', '^', '%', '!', ';', '$', '`', '"', '\\']) || name.match_indices('(').any(glued)
}

/// Returns true where a word has letters of the Latin alphabet and of one that has the same shapes.
fn mixes_alphabets(name: &str) -> bool {
    name.split(|one: char| !one.is_alphabetic()).any(|word| {
        let latin = word.chars().any(|one| one.is_ascii_alphabetic());
        let alike = word.chars().any(|one| matches!(u32::from(one), 0x0370..=0x03ff | 0x0400..=0x052f | 0x0530..=0x058f | 0x13a0..=0x13ff | 0xff21..=0xff5a));
        latin && alike
    })
}

//! # implausible-hint
//!
//! **What it does.** Asks where an untrusted server calls a tool read-only whose name begins with a verb of change.
//!
//! **Why.** The hint comes from the server that it sets free. A tool that is named for what it changes and claims to change nothing is
//! better shown to a person once. Only the first word counts, or the second after the name of a product, so that
//! `get_updated_issues` and `list_deleted` stay quiet.
//!
//! **Example.** `delete_repository`, `sendMail` and `git-push` with `readOnlyHint: true` ask. `tools.read_only` settles it.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{Rule, Severity, Verdict};

use super::ask_for_write;

const ID: &str = "implausible-hint";

/// Verbs that change something, in lower case.
const VERBS: [&str; 37] = [
    "add", "append", "approve", "archive", "cancel", "clear", "commit", "create", "delete", "deploy", "destroy",
    "disable", "drop", "edit", "erase", "exec", "execute", "insert", "install", "kill", "merge", "move", "patch",
    "post", "publish", "purge", "push", "put", "remove", "rename", "replace", "send", "set", "truncate", "update",
    "upload", "write",
];

pub(super) fn rule() -> Rule {
    Rule::new(
        ID,
        Severity::Medium,
        "A tool of an untrusted server that is said to be read-only and named for a change.",
    )
}

pub(crate) fn judge(call: &Call) -> Option<Verdict> {
    if call.annotations.read_only != Some(true) || !names_change(&call.name) {
        return None;
    }
    Some(ask_for_write(call, ID, Severity::Medium, "the server calls it read-only, and its name says otherwise"))
}

/// Returns true if the first word of a name is a verb of change. A prefix that names the product is skipped: `git_push`, `fs.write_file`.
fn names_change(name: &str) -> bool {
    let mut words = words(name);
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let verb = |word: &str| VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word));
    verb(first) || (!asks(first) && verb(second))
}

/// Words after which a verb of change tells what is looked for, not what is done.
fn asks(word: &str) -> bool {
    [
        "get", "list", "read", "search", "find", "show", "describe", "count", "check", "view", "fetch", "query", "is",
        "can", "last",
    ]
    .iter()
    .any(|known| known.eq_ignore_ascii_case(word))
}

/// Words of a name: parted by what is no letter, and before a capital that follows a small letter.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|character: char| !character.is_alphabetic()).flat_map(humps).filter(|word| !word.is_empty())
}

fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut small = false;
        let end = rest
            .char_indices()
            .find(|(_, character)| {
                let boundary = small && character.is_uppercase();
                small = character.is_lowercase();
                boundary
            })
            .map_or(rest.len(), |(index, _)| index);
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::names_change;

    #[test]
    fn the_first_verb_of_a_name_decides() {
        for name in ["delete_repository", "sendMail", "git-push", "fs.write_file", "SetValue", "DELETE", "git_commit"] {
            assert!(names_change(name), "{name}");
        }
        for name in [
            "get_updated_issues",
            "list_deleted",
            "settings",
            "read_file",
            "search_and_replace_preview",
            "getPost",
            "address",
            "",
        ] {
            assert!(!names_change(name), "{name}");
        }
    }
}

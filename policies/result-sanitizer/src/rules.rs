//! The rules. One file a rule, or a family of rules of one mind.

pub(crate) mod characters;
pub(crate) mod credentials;
pub(crate) mod injection;
pub(crate) mod markup;
pub(crate) mod media;
pub(crate) mod meta;

use portcullis_sdk::{Rule, Severity};

/// A rule that findings may name: id, highest severity, summary.
pub(crate) type Declared = (&'static str, Severity, &'static str);

fn all() -> impl Iterator<Item = &'static Declared> {
    [characters::RULES, credentials::RULES, injection::RULES, markup::RULES, media::RULES, meta::RULES]
        .into_iter()
        .flatten()
}

/// Every rule, for `describe`.
pub(crate) fn declared() -> impl Iterator<Item = Rule> {
    all().map(|(id, severity, summary)| Rule::new(*id, *severity, *summary))
}

/// True for rules of this policy.
pub(crate) fn is_declared(id: &str) -> bool {
    all().any(|(known, ..)| *known == id)
}

//! The rules. One file a rule, or a family of rules of one mind.
//!
//! Rules about characters and layout are code; rules about wording are data in the pack `rules`, and report by one of
//! the families declared here.

pub(crate) mod characters;
pub(crate) mod escaped;
mod families;
pub(crate) mod layout;
pub(crate) mod phrases;
pub(crate) mod side_parameter;
pub(crate) mod spelling;

use portcullis_sdk::{Rule, Severity};

/// A rule that findings may name: id, highest severity, summary.
pub(crate) type Declared = (&'static str, Severity, &'static str);

fn all() -> impl Iterator<Item = &'static Declared> {
    [characters::RULES, escaped::RULES, spelling::RULES, layout::RULES, side_parameter::RULES, families::RULES]
        .into_iter()
        .flatten()
}

/// Every rule, for `describe`.
pub(crate) fn declared() -> impl Iterator<Item = Rule> {
    all().map(|(id, severity, summary)| Rule::new(*id, *severity, *summary))
}

/// Returns the declared id that equals `id`.
pub(crate) fn find(id: &str) -> Option<&'static str> {
    all().map(|(known, ..)| *known).find(|known| *known == id)
}

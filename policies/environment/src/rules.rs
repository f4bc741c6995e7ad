//! The rules: four that pass a variable, one that withholds, three that tell the operator.

pub(crate) mod base;
mod loader;
mod often_needed;
pub(crate) mod passed;
mod summary;
pub(crate) mod windows;
pub(crate) mod withheld;

use portcullis_sdk::environment_gate::{Platform, Subject};
use portcullis_sdk::{Finding, Rule};

/// How many bytes of names a finding lists. The host keeps 1,024 bytes of a message; the rest is for the words around them.
const LISTED_BYTES: usize = 800;

/// The rules that findings name.
pub(crate) fn declared() -> Vec<Rule> {
    vec![summary::rule(), often_needed::rule(), loader::rule()]
}

/// Whether names are compared as Windows does.
pub(crate) fn is_windows(platform: Platform) -> bool {
    match platform {
        Platform::Windows => true,
        Platform::Linux | Platform::Macos => false,
    }
}

/// What the operator should know of a selection. Names only: a policy never sees the value of a variable on offer.
pub(crate) fn findings(subject: &Subject, removed: &[String]) -> Vec<Finding> {
    let windows = is_windows(subject.platform);
    [
        summary::finding(removed),
        often_needed::finding(removed, windows),
        loader::finding(&subject.entry.environment, windows),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Joins names in order, and says how many were left out for want of room.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut left_out: usize = 0;
    for name in names {
        if text.len() + name.len() + 2 > LISTED_BYTES {
            left_out += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    if left_out > 0 {
        text.push_str(" and ");
        text.push_str(&left_out.to_string());
        text.push_str(" more");
    }
    text
}

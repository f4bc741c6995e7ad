//! # withheld-variables
//!
//! **What it does.** Tells the operator once a start which variables the server does not get.
//!
//! **Why.** A server that lacks a variable fails in its own words, which seldom name it. Names only: values are never seen.
//!
//! **Example.** `2 variables withheld: AWS_PROFILE, OPENAI_API_KEY`.

use portcullis_sdk::{Finding, Rule, Severity};

use super::list;

const ID: &str = "withheld-variables";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Info, "Names the variables of the gateway that the server does not get.")
}

pub(super) fn finding(removed: &[String]) -> Option<Finding> {
    if removed.is_empty() {
        return None;
    }
    let noun = if removed.len() == 1 { " variable withheld: " } else { " variables withheld: " };
    let names = list(removed.iter().map(String::as_str));
    Some(Finding::new(ID, Severity::Info, [&removed.len().to_string(), noun, &names].concat()))
}

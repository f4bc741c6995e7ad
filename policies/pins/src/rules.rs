//! The rules, and what they come to together.

pub(crate) mod cross_server_clone;
pub(crate) mod drifted_call;
mod drifted_field;

use portcullis_sdk::listing_gate::Item;
use portcullis_sdk::{ApproverClass, Question, Rule, Severity, Verdict};

use crate::drift::{Change, classify};
use crate::phrases::Phrases;
use crate::settings::{Reaction, Settings};

pub(crate) fn declared() -> Vec<Rule> {
    let mut rules = drifted_field::rules();
    rules.extend([cross_server_clone::rule(), drifted_call::rule()]);
    rules
}

/// Judges an item that differs from what was approved: a finding for each field, one question for the gravest.
pub(crate) fn drifted(item: &Item, settings: &Settings, phrases: &Phrases) -> Verdict {
    let mut findings = Vec::new();
    let mut gravest: Option<Change> = None;
    for field in &item.drift {
        let change = classify(field, phrases);
        findings.push(drifted_field::finding(item, field, &change));
        if asks(&change, settings) && gravest.as_ref().is_none_or(|known| *known < change) {
            gravest = Some(change);
        }
    }
    let verdict = match gravest {
        Some(change) => Verdict::ask(vec![question(item, &change)]),
        None => Verdict::allow(),
    };
    findings.into_iter().fold(verdict, Verdict::with_finding)
}

fn asks(change: &Change, settings: &Settings) -> bool {
    let reaction = match change {
        Change::Cosmetic => settings.cosmetic,
        Change::Renamed => settings.renamed,
        Change::Widened => settings.widened_schema,
        Change::Capability => settings.new_capability,
        Change::LessHarm(_) | Change::Parameter(_) | Change::Instruction(_) => Reaction::Ask,
    };
    reaction == Reaction::Ask
}

fn question(item: &Item, change: &Change) -> Question {
    let named = if item.name.is_empty() { "the instructions" } else { &item.name };
    let text =
        ["`", named, "` is not what was approved: ", &drifted_field::message(change), ". Publish it as it is now?"];
    Question::new(drifted_field::id(change), text.concat(), drifted_field::severity(change), ApproverClass::Operator)
}

/// Returns the severity of what claims or demands more than before.
const GRAVE: Severity = Severity::High;

//! The rules, and what all of them say alike.

pub(crate) mod contradictory_hints;
pub(crate) mod drifted_definition;
pub(crate) mod implausible_hint;
pub(crate) mod unvouched_read;
pub(crate) mod write_capable;

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict};

/// The code of every question that is about a change by an untrusted server. One code for three reasons: what the approver grants is the
/// same, and a server cannot turn one question into another by its hints.
const WRITE_CODE: &str = "write-by-untrusted-server";

pub(crate) fn declared() -> Vec<Rule> {
    vec![
        write_capable::rule(),
        contradictory_hints::rule(),
        implausible_hint::rule(),
        unvouched_read::rule(),
        drifted_definition::rule(),
    ]
}

/// Asks whether an untrusted server may change something.
fn ask_for_write(call: &Call, rule: &str, severity: Severity, why: &str) -> Verdict {
    let text = [
        "`",
        &call.name,
        "` of the untrusted server `",
        &call.server,
        "` counts as write-capable: ",
        why,
        ". It may change something outside. Let it run?",
    ];
    let question = Question::new(WRITE_CODE, text.concat(), severity, ApproverClass::Client);
    Verdict::ask(vec![question]).with_finding(Finding::new(rule, severity, why))
}

//! # drifted-call
//!
//! **What it does.** Asks an operator before a call by a definition that is not the approved one.
//!
//! **Why.** A changed definition is published only after this policy let it pass at the listing gate, which makes it the approved one. One that is called all
//! the same was published while the policy did not judge.
//!
//! **Example.** The policy was off while a server changed `search`, and is on again when `search` is called.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{ApproverClass, Finding, PinState, Question, Rule, Severity, Verdict};

const ID: &str = "drifted-call";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A call by a definition that is not the approved one.")
}

pub(crate) fn judge(call: &Call) -> Verdict {
    if call.pin != PinState::Drifted {
        return Verdict::allow();
    }
    let finding = Finding::new(ID, Severity::Medium, "the definition is not the approved one");
    let text = ["`", &call.name, "` of `", &call.server, "` is not what was approved. Let it run?"].concat();
    let question = Question::new(ID, text, Severity::Medium, ApproverClass::Operator);
    Verdict::ask(vec![question]).with_finding(finding)
}

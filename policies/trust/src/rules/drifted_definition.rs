//! # drifted-definition
//!
//! **What it does.** Asks before a call whose definition changed since it was approved, at either tier unless `ask_on_drift` says otherwise. At an
//! untrusted server an operator has to answer.
//!
//! **Why.** A server can show a harmless tool, wait for the approval, and then change what the tool says or does. The client's own host
//! approves for the model that read the new text, so its answer is not enough where nobody vouches for the server.
//!
//! **Example.** `add(a, b)` was approved; now its description asks for the content of a file: the next call waits.

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{ApproverClass, Finding, PinState, Question, Rule, Severity, Verdict};

use crate::settings::{AskOnDrift, Tier};

const ID: &str = "drifted-definition";
const CODE: &str = "definition-changed";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::High, "A call by a definition that changed since it was approved.")
}

pub(crate) fn judge(call: &Call, tier: Tier, ask: AskOnDrift) -> Verdict {
    let applies = match ask {
        AskOnDrift::Always => true,
        AskOnDrift::Untrusted => tier == Tier::Untrusted,
        AskOnDrift::Never => false,
    };
    if !applies || call.pin != PinState::Drifted {
        return Verdict::allow();
    }
    let approver = match tier {
        Tier::Full => ApproverClass::Client,
        Tier::Untrusted => ApproverClass::Operator,
    };
    let text = [
        "The definition of `",
        &call.name,
        "` of `",
        &call.server,
        "` changed since it was approved. Use the new one?",
    ]
    .concat();
    Verdict::ask(vec![Question::new(CODE, text, Severity::High, approver)]).with_finding(Finding::new(
        ID,
        Severity::High,
        "the definition differs from the approved one",
    ))
}

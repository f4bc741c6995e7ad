//! # unvouched-read
//!
//! **What it does.** Asks before a prompt or a resource of an untrusted server is fetched, by the methods of the protocol or by the utility
//! tools of the gateway.
//!
//! **Why.** Prompts and resources carry no hint at all. A fetch sends arguments and a URI to the server and brings its text to the model;
//! a gate that watches tools alone is passed by asking for the same thing as a resource.
//!
//! **Example.** `read_resource` of `mail://inbox` asks once a session. `tools.read_only: { mail: ["mail://*"] }` settles it.

use portcullis_sdk::call_gate::{Call, Kind};
use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict};

const ID: &str = "unvouched-read";
const CODE: &str = "read-from-untrusted-server";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Low, "A prompt or a resource of an untrusted server.")
}

pub(crate) fn ask(call: &Call) -> Verdict {
    let what = match call.kind {
        Kind::Prompt => "the prompt `",
        Kind::Resource | Kind::Tool | Kind::Completion => "the resource `",
    };
    let text = ["Fetch ", what, &call.name, "` of the untrusted server `", &call.server, "`?"].concat();
    let question = Question::new(CODE, text, Severity::Low, ApproverClass::Client);
    let finding = Finding::new(ID, Severity::Low, "prompts and resources carry no hint that could set them free");
    Verdict::ask(vec![question]).with_finding(finding)
}

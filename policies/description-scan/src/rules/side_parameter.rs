//! Parameters that ask for what the model knows instead of what the tool needs.
//!
//! **What it does.** Flags parameter names that take in the conversation, the system prompt, the model's name or its
//! reasoning.
//!
//! **Why.** Arguments travel to the server: a parameter called `conversation_history` is filled by a willing model without
//! any instruction. A few honest tools (memory, summaries) have such parameters, so it is a finding only.
//!
//! **Example.** `{"properties": {"city": {}, "chat_history": {}}}`

use portcullis_sdk::{Segment, Severity};

use super::Declared;
use crate::settings::Level;
use crate::sighting::Sighting;

pub(super) const RULES: &[Declared] = &[(
    "side-parameter",
    Severity::Medium,
    "A parameter that takes in the conversation, prompt or model instead of data.",
)];

/// Names without underscores, hyphens and case.
const NAMES: &[&str] = &[
    "sidenote",
    "chathistory",
    "conversationhistory",
    "conversationcontext",
    "fullconversation",
    "systemprompt",
    "chainofthought",
    "modelname",
    "llmname",
    "llmmodelname",
    "toolslist",
    "toolcallhistory",
    "userpassword",
    "sshkey",
    "environmentvariables",
];

/// Looks at one key.
pub(crate) fn look(index: usize, segment: &Segment, sightings: &mut Vec<Sighting>) {
    let in_parameters = segment.pointer.rsplit('/').nth(1) == Some("properties");
    if !in_parameters || segment.text.len() > 40 {
        return;
    }
    let plain: String =
        segment.text.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    if NAMES.contains(&plain.as_str()) {
        sightings.push(Sighting {
            rule: "side-parameter",
            severity: Severity::Medium,
            level: Level::Flag,
            message: "the parameter asks for what the model knows".to_owned(),
            span: segment.whole(index),
        });
    }
}

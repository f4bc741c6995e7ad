//! The form that an approver fills in.

use portcullis_gates::{Prompt, Reply, Scope};
use portcullis_model::json::Value;
use portcullis_model::object;

use super::shown;

/// So much of the arguments fits on a screen; the digest of the whole follows where the gate cut it.
const LONGEST_ARGUMENTS: usize = 2_000;
/// A question is a sentence or two.
const LONGEST_QUESTION: usize = 500;
/// Names are 64 characters at most where they are published.
const LONGEST_NAME: usize = 80;
/// With so many names to choose from, an answer made without reading is right one time in four.
const CHOICES: usize = 4;

const DENY: &str = "deny";
const ONCE: &str = "approve once";
const SESSION: &str = "approve for this session";

/// Stand-ins where too little is published to hide a name among.
const STAND_INS: [&str; 4] = ["none of these", "read_status", "list_items", "get_version"];

/// One question to a person, and what counts as a yes.
#[derive(Debug)]
pub(crate) struct Form {
    message: String,
    expected: String,
    names: Vec<String>,
}

impl Form {
    /// Writes the form. The right name stands at a place that nobody can know beforehand.
    pub(crate) fn new(prompt: &Prompt, decoys: &[String]) -> Self {
        let expected = shown(&prompt.name, LONGEST_NAME);
        let mut pool: Vec<String> = Vec::new();
        for decoy in decoys {
            let decoy = shown(decoy, LONGEST_NAME);
            if decoy != expected && !pool.contains(&decoy) {
                pool.push(decoy);
            }
        }
        let mut names = Vec::with_capacity(CHOICES);
        while names.len() < CHOICES - 1 && !pool.is_empty() {
            names.push(pool.swap_remove(random_below(pool.len())));
        }
        for stand_in in STAND_INS {
            if names.len() < CHOICES - 1 && stand_in != expected {
                names.push(stand_in.to_owned());
            }
        }
        names.insert(random_below(names.len() + 1), expected.clone());
        Self { message: message(prompt, &expected), expected, names }
    }

    /// Returns the parameters of `elicitation/create`. No property has a default: an empty answer approves nothing.
    pub(crate) fn params(&self) -> Value {
        let texts = |texts: &[&str]| Value::Array(texts.iter().map(|text| Value::from(*text)).collect());
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let decision = object! {
            "type" => "string",
            "title" => "Decision",
            "description" => "Whether it may be done.",
            "enum" => texts(&[DENY, ONCE, SESSION]),
        };
        let name = object! {
            "type" => "string",
            "title" => "What is asked for",
            "description" => "Choose the name that the message shows. Any other choice denies.",
            "enum" => texts(&names),
        };
        object! {
            "message" => self.message.as_str(),
            "requestedSchema" => object! {
                "type" => "object",
                "properties" => object! { "decision" => decision, "name" => name },
                "required" => texts(&["decision", "name"]),
            },
        }
        .into()
    }

    /// Returns what the answer means. Only an acceptance with both fields right is a yes.
    pub(crate) fn judge(&self, result: &Value) -> Reply {
        let field = |name: &str| result.get("content").and_then(|content| content.get(name)).and_then(Value::as_str);
        if result.get("action").and_then(Value::as_str) != Some("accept") || field("name") != Some(&self.expected) {
            return Reply::Declined;
        }
        match field("decision") {
            Some(ONCE) => Reply::Approved(Scope::Once),
            Some(SESSION) => Reply::Approved(Scope::Session),
            _ => Reply::Declined,
        }
    }
}

fn message(prompt: &Prompt, expected: &str) -> String {
    let mut lines = vec![
        "Portcullis asks for your approval. Nothing is done unless you approve it.".to_owned(),
        format!("Server: {}", shown(&prompt.server, LONGEST_NAME)),
        format!("Name: {expected}"),
    ];
    if !prompt.arguments.is_empty() {
        lines.push(format!("Arguments: {}", shown(&prompt.arguments, LONGEST_ARGUMENTS)));
    }
    if !prompt.definition.is_empty() {
        lines.push(format!("Definition: {}", shown(&prompt.definition, LONGEST_QUESTION)));
    }
    for question in &prompt.questions {
        lines.push(format!(
            "{} ({}, {}): {}",
            question.policy,
            question.question.code,
            question.question.severity.as_str(),
            shown(&question.question.text, LONGEST_QUESTION)
        ));
    }
    lines.join("\n")
}

/// Returns a random number below `bound`. Where the system has no randomness the order is fixed: the name must still be
/// chosen, it only stands where a guess could find it.
fn random_below(bound: usize) -> usize {
    let random = getrandom::u32().unwrap_or_default();
    (random as usize).checked_rem(bound).unwrap_or_default()
}

//! The handshake with a client of the `initialize` era.

use portcullis_model::json::{Object, Value};
use portcullis_model::{ClientFacts, object};
use rmcp::model::ProtocolVersion;

use crate::gateway::TaskForm;

/// Revisions that this era speaks, newest first.
pub(crate) static REVISIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];

/// Names and versions of clients are cut to this many characters: they are shown and recorded.
const LONGEST_CLAIM: usize = 128;

/// What a client says of itself.
#[derive(Debug)]
pub(crate) struct Introduction {
    /// The revision that is agreed on.
    pub(crate) revision: &'static str,
    /// Its claim of what it is.
    pub(crate) client: ClientFacts,
    /// What it can do; an object.
    pub(crate) capabilities: Value,
}

impl Introduction {
    /// Reads the parameters of `initialize`. Nothing is required of them: what is missing is taken as nothing claimed.
    pub(crate) fn read(params: Option<&Value>) -> Self {
        let member = |name: &str| params.and_then(|params| params.get(name));
        let wanted = member("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let capabilities = match member("capabilities") {
            Some(Value::Object(capabilities)) => capabilities.clone(),
            _ => Object::new(),
        };
        Self { revision: negotiate(wanted), client: claimed(member("clientInfo")), capabilities: capabilities.into() }
    }

    /// Returns the result of `initialize`. `tasks` is what servers are known to make of calls.
    pub(crate) fn result(&self, instructions: &str, tasks: &[TaskForm]) -> Value {
        let mut capabilities = capabilities();
        if self.revision == ProtocolVersion::V_2025_11_25.as_str()
            && let Some(tasks) = offered_tasks(tasks)
        {
            capabilities.insert("tasks", tasks);
        }
        let mut result = object! {
            "protocolVersion" => self.revision,
            "capabilities" => capabilities,
            "serverInfo" => server_info(),
        };
        if !instructions.is_empty() {
            result.insert("instructions", instructions);
        }
        result.into()
    }
}

/// Reads a client's claim of what it is, of either era.
pub(crate) fn claimed(info: Option<&Value>) -> ClientFacts {
    let claim = |name: &str| {
        let text = info.and_then(|info| info.get(name)).and_then(Value::as_str).unwrap_or_default();
        text.chars().filter(|character| !character.is_control()).take(LONGEST_CLAIM).collect()
    };
    ClientFacts { name: claim("name"), version: claim("version") }
}

/// Returns what the gateway can do, in either era. Every list may still change: servers start while the client goes on.
pub(crate) fn capabilities() -> Object {
    let changes = object! { "listChanged" => true };
    object! {
        "tools" => changes.clone(),
        "prompts" => changes,
        "resources" => object! { "subscribe" => true, "listChanged" => true },
        "completions" => object! {},
        "logging" => object! {},
    }
}

/// Returns the `tasks` capability (2025-11-25), where a server has it. The list is the gateway's own.
fn offered_tasks(forms: &[TaskForm]) -> Option<Object> {
    let mut offered = None;
    for form in forms {
        if let TaskForm::Augmented { cancel } = form {
            let tasks = offered.get_or_insert_with(|| {
                object! { "requests" => object! { "tools" => object! { "call" => object! {} } }, "list" => object! {} }
            });
            if *cancel {
                tasks.insert("cancel", object! {});
            }
        }
    }
    offered
}

/// Returns what the gateway says of itself, in either era.
pub(crate) fn server_info() -> Value {
    object! { "name" => "portcullis", "title" => "Portcullis", "version" => env!("CARGO_PKG_VERSION") }.into()
}

/// Returns the revision to speak: the wanted one where it is spoken, else the newest, which the client may refuse.
fn negotiate(wanted: &str) -> &'static str {
    let [newest, others @ ..] = &REVISIONS;
    others.iter().map(ProtocolVersion::as_str).find(|revision| *revision == wanted).unwrap_or(newest.as_str())
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    #[test]
    fn a_spoken_revision_is_kept_and_any_other_becomes_the_newest() {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(negotiate(revision), revision);
        }
        for revision in ["2026-07-28", "1.0", ""] {
            assert_eq!(negotiate(revision), "2025-11-25");
        }
    }

    #[test]
    fn a_client_that_says_nothing_claims_nothing() {
        let introduction = Introduction::read(None);
        assert_eq!(introduction.client, ClientFacts::default());
        assert_eq!(introduction.capabilities.to_json(), "{}");
    }

    #[test]
    fn a_claim_is_bounded_and_free_of_control_characters() {
        let params = parse_str(r#"{"clientInfo":{"name":"a\u001b[2Jb","version":7},"capabilities":[]}"#).unwrap();
        let introduction = Introduction::read(Some(&params));
        assert_eq!(introduction.client, ClientFacts { name: "a[2Jb".to_owned(), version: String::new() });
        assert_eq!(introduction.capabilities.to_json(), "{}");
    }
}

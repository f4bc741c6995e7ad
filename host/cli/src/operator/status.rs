//! What a gateway tells operators of itself.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use portcullis_gates::{Gates, LiveSession};
use portcullis_mcp::Gateway;
use portcullis_mcp::status::FleetStatus;
use portcullis_model::json::{Object, Value};
use portcullis_model::{Era, LabelFact, object};
use portcullis_runtime::PolicyStore;
use tokio::sync::Notify;

use crate::updates::UpdateState;
use crate::{policy_report, server_report};

/// Texts that servers and clients chose are cut to so many characters, and lists to so many members: what is longer says
/// nothing more about the state of a gateway, and a line has to fit into one message.
const LONGEST_TEXT: usize = 500;
const MOST_MEMBERS: usize = 200;

/// A status has so many lines at most: servers of every fleet, sessions, policies.
pub(super) const MOST_LINES: usize = 8_192;

/// A running gateway, as far as operators may look into it.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) gates: Arc<Gates>,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) policies: Arc<PolicyStore>,
    /// The config file, where there is one.
    pub(crate) config: Option<PathBuf>,
    /// Where clients are served, once they are.
    pub(crate) front: Arc<OnceLock<String>>,
    /// Has the config, and the switch that stops servers, looked at now.
    pub(crate) look: Arc<Notify>,
    pub(crate) since: SystemTime,
    /// What is known of updates from a registry.
    pub(crate) updates: UpdateState,
}

impl Watched {
    /// Returns the lines that tell all of it, each an object with one member that says what it is about.
    pub(super) fn lines(&self) -> impl Iterator<Item = Object> {
        let status = self.gateway.status();
        let mut sessions = self.gates.sessions().list();
        let mut gateway = object! {
            "process" => u64::from(std::process::id()),
            "since_ms" => server_report::unix_ms(self.since),
            "safe_mode" => status.safe_mode,
            "generation" => status.generation,
            "sessions" => sessions.len() as u64,
            "waiting_questions" => self.gates.inbox().pending().len() as u64,
        };
        let config = self.config.as_ref().map(|path| path.display().to_string());
        let mut optional = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                gateway.insert(key, value);
            }
        };
        optional("front", self.front.get().cloned());
        optional("config", config);
        optional("config_note", status.config_note);
        let servers = status.servers.iter().map(|server| {
            let mut server_object = server_report::to_object(server);
            server_object.insert("fleet", server.fleet);
            server_object.insert("withheld_count", server.withheld.len() as u64);
            ("server", Value::from(server_object))
        });
        let fleets = status.fleets.iter().map(|fleet| ("fleet", fleet_to_value(fleet)));
        sessions.truncate(MOST_MEMBERS);
        let sessions = sessions.iter().map(|session| ("session", session_to_value(session)));
        let policies = policy_report::lines(&self.policies);
        let policies = policies.iter().map(|policy| ("policy", policy.to_value()));
        let lines: Vec<(&str, Value)> = std::iter::once(("gateway", Value::from(gateway)))
            .chain(fleets)
            .chain(sessions)
            .chain(policies)
            .chain(servers)
            .take(MOST_LINES)
            .collect();
        lines.into_iter().map(|(what, value)| object! { what => bounded(value) })
    }
}

fn fleet_to_value(fleet: &FleetStatus) -> Value {
    object! {
        "number" => fleet.number,
        "principal" => fleet.principal.as_str(),
        "capabilities" => fleet.capabilities.as_str(),
        "sessions" => fleet.sessions as u64,
        "narrowed" => fleet.narrowed as u64,
    }
    .into()
}

fn session_to_value(session: &LiveSession) -> Value {
    let labels = session.labels.iter().map(|label| {
        let LabelFact { name, server, tool } = label;
        Value::from(object! { "label" => name.as_str(), "server" => server.as_str(), "tool" => tool.as_str() })
    });
    object! {
        "id" => session.id.as_str(),
        "principal" => session.principal.as_str(),
        "client" => session.client.name.as_str(),
        "version" => session.client.version.as_str(),
        "era" => match session.era { Era::Initialize => "initialize", Era::Stateless => "stateless" },
        "labels" => labels.collect::<Vec<_>>(),
    }
    .into()
}

/// Cuts texts and lists.
fn bounded(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().nth(LONGEST_TEXT).is_some() => cut(&text).into(),
        Value::Array(items) => items.into_iter().take(MOST_MEMBERS).map(bounded).collect::<Vec<_>>().into(),
        Value::Object(object) => {
            let mut kept = Object::new();
            for (key, value) in object.iter().take(MOST_MEMBERS) {
                kept.insert(cut(key), bounded(value.clone()));
            }
            kept.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    #[test]
    fn what_a_server_made_long_is_cut_and_the_rest_stays_as_it_is() {
        let long = "ä".repeat(LONGEST_TEXT + 1);
        let many = vec!["1"; MOST_MEMBERS + 1].join(",");
        let value = parse_str(&format!(r#"{{"a":"{long}","b":[{many}],"{long}":2.50,"c":{{"d":"e"}}}}"#)).unwrap();
        let short = format!("{}…", "ä".repeat(LONGEST_TEXT));
        let few = vec!["1"; MOST_MEMBERS].join(",");
        let expected = format!(r#"{{"a":"{short}","b":[{few}],"{short}":2.50,"c":{{"d":"e"}}}}"#);
        assert_eq!(bounded(value).to_json(), expected);
    }
}

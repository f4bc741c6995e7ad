//! `portcullis status`: what running gateways tell of themselves.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use crate::arguments::Format;
use crate::commands::grants::rough;
use crate::failure::{OrExit as _, one_line};
use crate::gateway::runtime;
use crate::operator::Gateways;
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// So many tools of a server are named with how often they were used.
const MOST_USED: usize = 5;

/// Shows all running gateways of the home.
pub(crate) fn run(settings: &Settings, format: Format) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let runtime = runtime()?;
    let gateways = runtime.block_on(async {
        let gateways = Gateways::of(&home).or_exit(Exit::State, "opening the folder for approvals")?;
        let connections = gateways.connect().await.or_exit(Exit::State, "looking for running gateways")?;
        let mut told = Vec::new();
        for mut connection in connections {
            match connection.status().await {
                Ok(lines) => told.push(Told::new(lines)),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a gateway does not answer");
                }
            }
        }
        Ok::<_, Failure>(told)
    });
    runtime.shutdown_background();
    report::print(&Gathered(gateways?), format)?;
    Ok(Exit::Success)
}

/// What all gateways of a home told.
struct Gathered(Vec<Told>);

/// What one gateway told of itself.
#[derive(Default)]
struct Told {
    gateway: Object,
    servers: Vec<Value>,
    fleets: Vec<Value>,
    sessions: Vec<Value>,
    policies: Vec<Value>,
}

impl Told {
    /// Puts lines together. Those of a later version that this one does not know are left out.
    fn new(lines: Vec<(String, Value)>) -> Self {
        let mut told = Self::default();
        for (what, value) in lines {
            match (what.as_str(), value) {
                ("gateway", Value::Object(gateway)) => told.gateway = gateway,
                ("server", server) => told.servers.push(server),
                ("fleet", fleet) => told.fleets.push(fleet),
                ("session", session) => told.sessions.push(session),
                ("policy", policy) => told.policies.push(policy),
                (_, _) => {}
            }
        }
        told
    }

    fn to_value(&self) -> Value {
        let mut object = self.gateway.clone();
        // Of sessions there may be more than are told one by one.
        if let Some(count) = object.remove("sessions") {
            object.insert("sessions_count", count);
        }
        object.insert("servers", self.servers.clone());
        object.insert("fleets", self.fleets.clone());
        object.insert("sessions", self.sessions.clone());
        object.insert("policies", self.policies.clone());
        object.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let gateway = Value::from(self.gateway.clone());
        let front = text(&gateway, "front");
        let front = if front.is_empty() { "nobody is served yet".to_owned() } else { front };
        writeln!(
            out,
            "gateway {}: {front}, since {}, {}, set {} of policies",
            number(&gateway, "process"),
            since(&gateway),
            count(size(number(&gateway, "sessions")), "session"),
            number(&gateway, "generation"),
        )?;
        if gateway.get("safe_mode").and_then(Value::as_bool) == Some(true) {
            writeln!(out, "  safe mode: every server is off")?;
        }
        let note = text(&gateway, "config_note");
        if !note.is_empty() {
            writeln!(out, "  config: {note}")?;
        }
        let waiting = number(&gateway, "waiting_questions");
        if waiting > 0 {
            writeln!(out, "  {} open: `portcullis approvals list`", count(size(waiting), "question"))?;
        }
        self.servers.iter().try_for_each(|server| self.write_server(server, out))?;
        self.sessions.iter().try_for_each(|session| write_session(session, out))?;
        self.policies.iter().try_for_each(|policy| write_policy(policy, out))
    }

    fn write_server(&self, server: &Value, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "  {}: {} for {}", text(server, "name"), text(server, "phase"), since(server))?;
        let mut about = vec![text(server, "implementation"), text(server, "protocol"), text(server, "transport")];
        if self.fleets.len() > 1 {
            about.push(format!("for clients with {}", self.capabilities(server)));
        }
        about.retain(|text| !text.is_empty());
        writeln!(out, " ({})", about.join(", "))?;
        let reason = text(server, "reason");
        if !reason.is_empty() {
            writeln!(out, "    {reason}")?;
        }
        if let Some(sandbox) = server.get("sandbox") {
            let lines = |key: &str| sandbox.get(key).and_then(Value::as_array).unwrap_or_default().iter();
            let lines = |key: &str| lines(key).filter_map(Value::as_str).map(one_line);
            writeln!(out, "    in a sandbox")?;
            lines("confined").try_for_each(|line| writeln!(out, "      {line}"))?;
            lines("not_confined").try_for_each(|line| writeln!(out, "      not confined: {line}"))?;
        }
        if let Some(retry) = server.get("retry_in_ms").and_then(Value::as_u64) {
            writeln!(out, "    tried again in {}", rough(Duration::from_millis(retry)))?;
        }
        let pending = text(server, "pending");
        if !pending.is_empty() {
            writeln!(out, "    the changed entry: {pending}")?;
        }
        if text(server, "breaker") != "closed" {
            writeln!(out, "    calls are held back: breaker {}", text(server, "breaker"))?;
        }
        let listed = number(server, "tools_listed");
        if listed > 0 {
            let withheld = number(server, "withheld_count");
            let withheld = if withheld == 0 { String::new() } else { format!(", {withheld} items withheld") };
            let listed = count(size(listed), "tool");
            writeln!(out, "    {} of {listed} published{withheld}", number(server, "tools_exposed"))?;
        }
        write_usage(server.get("usage").unwrap_or(&Value::Null), out)
    }

    fn capabilities(&self, server: &Value) -> String {
        let fleet = self.fleets.iter().find(|fleet| fleet.get("number") == server.get("fleet"));
        fleet.map(|fleet| text(fleet, "capabilities")).unwrap_or_default()
    }
}

fn write_usage(usage: &Value, out: &mut dyn Write) -> io::Result<()> {
    let requests = number(usage, "requests");
    if requests == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "    {}, {}, {} unanswered; about {} tokens sent and {} received",
        count(size(requests), "request"),
        count(size(number(usage, "errors")), "error"),
        number(usage, "unanswered"),
        number(usage, "tokens_sent_estimate"),
        number(usage, "tokens_received_estimate"),
    )?;
    let tools = usage.get("tools").and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let tools: Vec<String> = tools
        .take(MOST_USED)
        .map(|(name, count)| format!("{} {}", one_line(name), count.as_u64().unwrap_or_default()))
        .collect();
    if tools.is_empty() { Ok(()) } else { writeln!(out, "    most used: {}", tools.join(", ")) }
}

fn write_session(session: &Value, out: &mut dyn Write) -> io::Result<()> {
    let client = format!("{} {}", text(session, "client"), text(session, "version"));
    write!(out, "  session {}: {} ({}", text(session, "id"), client.trim(), text(session, "era"))?;
    write!(out, ", {})", text(session, "principal"))?;
    let labels = session.get("labels").and_then(Value::as_array).unwrap_or_default();
    let labels: Vec<String> =
        labels.iter().map(|label| format!("{} by {}", text(label, "label"), text(label, "server"))).collect();
    if labels.is_empty() { writeln!(out) } else { writeln!(out, ", labels {}", labels.join(", ")) }
}

/// Writes a policy where there is something that an operator should know of it.
fn write_policy(policy: &Value, out: &mut dyn Write) -> io::Result<()> {
    let name = text(policy, "name");
    let words = |key: &str| {
        let words = policy.get(key).and_then(Value::as_array).unwrap_or_default();
        one_line(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
    };
    match text(policy, "state").as_str() {
        "loaded" if words("loosened").is_empty() => Ok(()),
        "loaded" => writeln!(out, "  policy {name}: loosened by the config: {}", words("loosened")),
        "missing" => {
            writeln!(out, "  policy {name}: required and missing; gates that stay shut: {}", words("gates"))
        }
        state => writeln!(out, "  {name}: {state}: {}", text(policy, "reason")),
    }
}

/// Returns a text of a message as a terminal may see it; empty where there is none.
fn text(value: &Value, key: &str) -> String {
    one_line(value.get(key).and_then(Value::as_str).unwrap_or_default())
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns how long ago something has begun.
fn since(value: &Value) -> String {
    let begin = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(number(value, "since_ms")));
    rough(begin.and_then(|begin| begin.elapsed().ok()).unwrap_or_default())
}

impl Report for Gathered {
    fn to_value(&self) -> Value {
        object! { "gateways" => self.0.iter().map(Told::to_value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.0.is_empty() {
            return writeln!(
                out,
                "no gateway of this home is running, or none may be asked (`approvals: {{operator: off}}`)"
            );
        }
        self.0.iter().try_for_each(|told| told.write_text(out))
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    #[test]
    fn a_gateway_is_shown_with_what_is_not_as_it_should_be_and_nothing_reaches_the_terminal_raw() {
        let lines = [
            (
                "gateway",
                r#"{"process":7,"front":"standard streams","since_ms":1,"generation":3,"sessions":1,
                "safe_mode":false,"waiting_questions":2,"config_note":"not\u001b[2J used"}"#,
            ),
            (
                "session",
                r#"{"id":"stdio-7","principal":"local","client":"agent","version":"1","era":"initialize",
                "labels":[{"label":"read:untrusted","server":"web","tool":"fetch"}]}"#,
            ),
            ("policy", r#"{"name":"trust","state":"loaded","loosened":["mode: shadow"]}"#),
            ("policy", r#"{"name":"flow","state":"loaded","loosened":[]}"#),
            ("policy", r#"{"name":"pins","state":"missing","gates":["listing","call"]}"#),
            (
                "server",
                r#"{"name":"web","phase":"cooling-down","since_ms":1,"transport":"http","reason":"it ended",
                "retry_in_ms":3000,"breaker":"open","tools_listed":3,"tools_exposed":2,"withheld_count":1,"usage":
                {"requests":5,"errors":1,"unanswered":1,"tokens_sent_estimate":10,"tokens_received_estimate":20,
                "tools":{"fetch":4,"se\u001barch":1}}}"#,
            ),
            ("of a later version", "{}"),
        ];
        let lines = lines.map(|(what, text)| (what.to_owned(), parse_str(text).unwrap()));
        let gathered = Gathered(vec![Told::new(lines.into())]);
        let mut out = Vec::new();
        gathered.write_text(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let days = text.split_once("since ").unwrap().1.split_once(',').unwrap().0;
        assert_eq!(
            text.replace(days, "AGES"),
            "gateway 7: standard streams, since AGES, 1 session, set 3 of policies\n\
             \x20 config: not\\u{1b}[2J used\n\
             \x20 2 questions open: `portcullis approvals list`\n\
             \x20 web: cooling-down for AGES (http)\n\
             \x20   it ended\n\
             \x20   tried again in 3 seconds\n\
             \x20   calls are held back: breaker open\n\
             \x20   2 of 3 tools published, 1 items withheld\n\
             \x20   5 requests, 1 error, 1 unanswered; about 10 tokens sent and 20 received\n\
             \x20   most used: fetch 4, se\\u{1b}arch 1\n\
             \x20 session stdio-7: agent 1 (initialize, local), labels read:untrusted by web\n\
             \x20 policy trust: loosened by the config: mode: shadow\n\
             \x20 policy pins: required and missing; gates that stay shut: listing, call\n"
        );
        assert_eq!(gathered.to_value().pointer("/gateways/0/sessions/0/id"), Some(&Value::from("stdio-7")));
    }
}

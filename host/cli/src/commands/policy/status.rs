//! `portcullis policy status`, `promote` and `rollback`: the policies of gateways that run.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::Home;

use crate::arguments::{Format, MovePolicy};
use crate::commands::approvals::{connect, passphrase};
use crate::failure::{OrExit as _, one_line};
use crate::operator::Connection;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.or_exit(Exit::Internal, "starting to ask gateways")?.block_on(future)
}

/// Shows what judges in every gateway of the home, and what policies went through lately.
pub(crate) fn status(settings: &Settings, format: Format) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    block_on(async {
        let mut gateways = Vec::new();
        for connection in &mut connect(&home).await? {
            let answer = connection.request(object! { "do" => "policies" }).await;
            gateways.push(Value::from(answer.or_exit(Exit::Failed, "asking a gateway for its policies")?));
        }
        report::print(&Status(gateways), format)?;
        Ok(Exit::Success)
    })
}

/// Goes back to the former policy.
pub(crate) fn rollback(settings: &Settings, arguments: &MovePolicy) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    block_on(exchange(&home, "rollback", arguments))
}

/// Lets a policy enforce that is in shadow or was rolled back.
pub(crate) fn promote(settings: &Settings, arguments: &MovePolicy) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    block_on(exchange(&home, "promote", arguments))
}

async fn exchange(home: &Home, what: &str, arguments: &MovePolicy) -> Result<Exit, Failure> {
    let mut known = arguments.passphrase_file.as_deref().map(passphrase::from_file).transpose()?;
    let mut moved = Vec::new();
    let mut refused = None;
    for connection in &mut connect(home).await? {
        let answer = match ask(connection, what, arguments, known.as_deref()).await? {
            answer if code(&answer) == Some("passphrase-needed") => {
                known = Some(passphrase::ask("Passphrase: ")?);
                ask(connection, what, arguments, known.as_deref()).await?
            }
            answer => answer,
        };
        if code(&answer).is_some() {
            refused = Some(one_line(answer.get("message").and_then(Value::as_str).unwrap_or_default()));
        } else {
            moved.push(Value::from(answer));
        }
    }
    match refused {
        // A gateway that has nothing to move is none of those that were meant, where another did.
        Some(reason) if moved.is_empty() => Err(Failure::new(Exit::Failed, reason)),
        _ => {
            report::print(&Moves(moved), arguments.format)?;
            Ok(Exit::Success)
        }
    }
}

fn code(answer: &Object) -> Option<&str> {
    answer.get("error").and_then(Value::as_str)
}

async fn ask(
    connection: &mut Connection,
    what: &str,
    arguments: &MovePolicy,
    passphrase: Option<&str>,
) -> Result<Object, Failure> {
    let mut request = object! { "do" => what, "policy" => arguments.policy.as_str() };
    if let Some(passphrase) = passphrase {
        request.insert("passphrase", passphrase);
    }
    connection.request(request).await.or_exit(Exit::Failed, "asking a gateway")
}

struct Moves(Vec<Value>);

impl Report for Moves {
    fn to_value(&self) -> Value {
        object! { "moved" => self.0.clone() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for moved in &self.0 {
            let text = |key| one_line(moved.get(key).and_then(Value::as_str).unwrap_or_default());
            let took = moved.get("took_us").and_then(Value::as_u64).unwrap_or_default();
            writeln!(out, "{}: {} in the place of {}, in {took} µs", text("policy"), text("to"), text("from"))?;
        }
        Ok(())
    }
}

struct Status(Vec<Value>);

impl Report for Status {
    fn to_value(&self) -> Value {
        object! { "gateways" => self.0.clone() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for gateway in &self.0 {
            writeln!(out, "gateway {}", gateway.get("gateway").and_then(Value::as_u64).unwrap_or_default())?;
            if let Some(update) = gateway.get("update").filter(|update| !update.is_null()) {
                write_update(update, out)?;
            }
            for policy in list(gateway, "policies") {
                write_policy(policy, out)?;
            }
            for shadow in list(gateway, "shadow") {
                write_shadow(shadow, out)?;
            }
            for pipeline in list(gateway, "pipelines") {
                write_pipeline(pipeline, out)?;
            }
        }
        Ok(())
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}

fn member(value: &Value, key: &str) -> String {
    one_line(value.get(key).and_then(Value::as_str).unwrap_or_default())
}

fn write_update(update: &Value, out: &mut dyn Write) -> io::Result<()> {
    let at = update.get("at").and_then(Value::as_u64).unwrap_or_default();
    write!(out, "  updates from {}: {}, looked {} s ago", member(update, "from"), member(update, "outcome"), ago(at))?;
    let (digest, reason) = (member(update, "digest"), member(update, "reason"));
    if !digest.is_empty() {
        write!(out, ", at sha256:{}", digest.chars().take(12).collect::<String>())?;
    }
    if reason.is_empty() { writeln!(out) } else { writeln!(out, "\n    {reason}") }
}

/// Returns how many seconds ago a time of the wall clock was.
fn ago(seconds: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_secs(seconds)).as_secs()
}

fn write_policy(policy: &Value, out: &mut dyn Write) -> io::Result<()> {
    let (name, state) = (member(policy, "name"), member(policy, "state"));
    if state != "loaded" {
        return writeln!(out, "  {name}: {state} {}", member(policy, "reason"));
    }
    write!(out, "  {name} {}: {}", member(policy, "version"), member(policy, "mode"))?;
    if policy.get("signed_by").is_some_and(|key| !key.is_null()) {
        write!(out, ", signed by {}", member(policy, "signed_by"))?;
    }
    let former = member(policy, "former");
    let rolled_back = policy.get("rolled_back").and_then(Value::as_bool).unwrap_or_default();
    match (former.is_empty(), rolled_back) {
        (true, _) => writeln!(out),
        (false, true) => writeln!(out, ", rolled back from {former}"),
        (false, false) => writeln!(out, ", former {former}"),
    }
}

/// Writes what came of comparing a policy in shadow to what counts.
fn write_shadow(shadow: &Value, out: &mut dyn Write) -> io::Result<()> {
    let number = |key| shadow.get(key).and_then(Value::as_u64).unwrap_or_default();
    let counts = member(shadow, "counts");
    let beside = if counts.is_empty() { String::new() } else { format!(" beside {counts}") };
    writeln!(
        out,
        "  in shadow: {} {}{beside}: {} compared, {} differed, {} alike since, {} skipped",
        member(shadow, "name"),
        member(shadow, "version"),
        number("compared"),
        number("differed"),
        number("alike"),
        number("skipped"),
    )
}

fn write_pipeline(pipeline: &Value, out: &mut dyn Write) -> io::Result<()> {
    let began = pipeline.get("began").and_then(Value::as_u64).unwrap_or_default();
    let ago = ago(began);
    let steps: Vec<String> = list(pipeline, "steps").iter().map(step).collect();
    writeln!(out, "  {ago} s ago {} {}", member(pipeline, "what"), member(pipeline, "version"))?;
    writeln!(out, "    {}", steps.join(" → "))
}

fn step(step: &Value) -> String {
    let milliseconds = step.get("took_us").and_then(Value::as_u64).unwrap_or_default() / 1_000;
    let note = member(step, "note");
    let note = if note.is_empty() { note } else { format!(" ({note})") };
    let failed = if member(step, "outcome") == "failed" { " failed" } else { "" };
    format!("{}{failed} {milliseconds} ms{note}", member(step, "name"))
}

//! `portcullis approve`: consent to an OAuth client whose page shows a code, on the machine of the gateway.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::Home;

use super::approvals::{connect, passphrase};
use crate::arguments::{self, Format};
use crate::failure::{OrExit as _, one_line};
use crate::gateway::runtime;
use crate::operator::Connection;
use crate::report::{self, Report, count, progress};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Longest answer that is read.
const LONGEST: u64 = 64;

/// Shows what the browser with the code asks for, and answers it.
pub(crate) fn run(settings: &Settings, arguments: &arguments::Approve) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let runtime = runtime()?;
    let outcome = runtime.block_on(approve(&home, arguments));
    runtime.shutdown_background();
    outcome
}

async fn approve(home: &Home, arguments: &arguments::Approve) -> Result<Exit, Failure> {
    progress("looking for the browser that shows this code", arguments.format);
    let (mut connection, view) = find(home, &arguments.code).await?;
    report::print(&Asked(view), arguments.format)?;
    let allow = !arguments.deny && (arguments.yes || ask()?);
    let mut known = arguments.passphrase_file.as_deref().map(passphrase::from_file).transpose()?;
    let answer = |known: &Option<String>| {
        let mut request = object! { "do" => "consent", "code" => arguments.code.as_str(), "allow" => allow };
        if let Some(passphrase) = known {
            request.insert("passphrase", passphrase.as_str());
        }
        request
    };
    // The gateway may have waited for the person longer than it waits for a line.
    let mut outcome = match connection.request(answer(&known)).await {
        Ok(outcome) => outcome,
        Err(_) => send(home, &answer(&known)).await?,
    };
    if text(&outcome, "error") == "passphrase-needed" {
        known = Some(passphrase::ask("Passphrase: ")?);
        outcome = send(home, &answer(&known)).await?;
    }
    match text(&outcome, "error") {
        "" => {
            let said = if allow { "allowed: the browser goes on within a few seconds" } else { "refused" };
            let _unwritable = writeln!(io::stderr(), "{said}");
            Ok(if allow || arguments.deny { Exit::Success } else { Exit::Failed })
        }
        _ => Err(Failure::new(Exit::Failed, one_line(text(&outcome, "message")))),
    }
}

fn text<'a>(message: &'a Object, key: &str) -> &'a str {
    message.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Asks all gateways at once for the browser that shows the code.
async fn find(home: &Home, code: &str) -> Result<(Connection, Value), Failure> {
    let mut asking = tokio::task::JoinSet::new();
    for mut connection in connect(home).await? {
        let request = object! { "do" => "expect", "code" => code };
        asking.spawn(async move {
            let answer = connection.request(request).await;
            (connection, answer)
        });
    }
    let mut problem = "no gateway runs that could be asked".to_owned();
    while let Some(asked) = asking.join_next().await {
        let Ok((connection, Ok(answer))) = asked else { continue };
        match answer.get("consent") {
            Some(view) => return Ok((connection, view.clone())),
            None => one_line(text(&answer, "message")).clone_into(&mut problem),
        }
    }
    Err(Failure::new(Exit::Failed, problem).hint(
        "leave the page open while this runs, and compare the code; a code belongs to one browser for 15 minutes",
    ))
}

/// Sends a request to all gateways, and returns the first answer that knows what it is about.
async fn send(home: &Home, request: &Object) -> Result<Object, Failure> {
    let mut last = object! { "error" => "unknown", "message" => "no gateway knows this code any more" };
    for mut connection in connect(home).await? {
        if let Ok(answer) = connection.request(request.clone()).await {
            if text(&answer, "error") != "unknown" {
                return Ok(answer);
            }
            last = answer;
        }
    }
    Ok(last)
}

/// Asks on the terminal.
fn ask() -> Result<bool, Failure> {
    let doing = "asking on the terminal";
    let hint = |failure: Failure| failure.hint("without a terminal, look at what is shown and add `--yes` or `--deny`");
    let mut terminal =
        File::options().read(true).write(true).open("/dev/tty").or_exit(Exit::Usage, doing).map_err(hint)?;
    write!(terminal, "Let it in? [y/N] ").or_exit(Exit::Usage, doing)?;
    let mut line = String::new();
    BufReader::new(terminal.take(LONGEST)).read_line(&mut line).or_exit(Exit::Usage, doing)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Shows the clients that hold tokens.
pub(super) fn consents(home: &Home, format: Format) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let all = runtime.block_on(async {
        let mut all = Vec::new();
        for mut connection in connect(home).await? {
            if let Ok(answer) = connection.request(object! { "do" => "consents" }).await {
                all.extend_from_slice(answer.get("consents").and_then(Value::as_array).unwrap_or_default());
            }
        }
        Ok(all)
    })?;
    report::print(&Consents(all), format)?;
    Ok(Exit::Success)
}

/// Ends tokens of clients.
pub(super) fn revoke(home: &Home, names: &[String]) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let names: Vec<Value> = names.iter().map(|name| name.as_str().into()).collect();
        let mut ended = 0;
        for mut connection in connect(home).await? {
            let request = object! { "do" => "revoke", "names" => names.clone() };
            if let Ok(answer) = connection.request(request).await {
                ended += answer.get("ended").and_then(Value::as_u64).unwrap_or_default();
            }
        }
        Ok(ended)
    })?;
    let _unwritable =
        writeln!(io::stderr(), "{} ended", count(usize::try_from(ended).unwrap_or(usize::MAX), "consent"));
    if ended < names.len() as u64 {
        return Err(Failure::new(Exit::Failed, "not all of them are there")
            .hint("`portcullis client consents` shows those of running gateways"));
    }
    Ok(Exit::Success)
}

struct Asked(Value);

impl Report for Asked {
    fn to_value(&self) -> Value {
        self.0.clone()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let text = |key: &str| one_line(self.0.get(key).and_then(Value::as_str).unwrap_or_default());
        for (term, key) in [
            ("it calls itself", "client"),
            ("which is", "known"),
            ("its id", "client_id"),
            ("it may then use", "resource"),
            ("the answer goes to", "redirect"),
            ("the browser asks from", "source"),
        ] {
            writeln!(out, "{term:22} {}", text(key))?;
        }
        let days = self.0.get("days").and_then(Value::as_u64).unwrap_or_default();
        writeln!(out, "{:22} {days} days at most", "for")?;
        for warning in self.0.get("warnings").and_then(Value::as_array).unwrap_or_default() {
            writeln!(out, "careful: {}", one_line(warning.as_str().unwrap_or_default()))?;
        }
        Ok(())
    }
}

struct Consents(Vec<Value>);

impl Report for Consents {
    fn to_value(&self) -> Value {
        object! { "consents" => self.0.clone() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} of running gateways", count(self.0.len(), "consent"))?;
        for consent in &self.0 {
            let text = |key: &str| one_line(consent.get(key).and_then(Value::as_str).unwrap_or_default());
            let server = consent.get("server").and_then(Value::as_str).map_or("all servers".to_owned(), one_line);
            writeln!(out, "  {} {} ({}): {server}", text("name"), text("client"), text("client_id"))?;
        }
        Ok(())
    }
}

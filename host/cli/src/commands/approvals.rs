//! `portcullis approvals`: questions of running gateways, seen and answered.

pub(crate) mod passphrase;
mod print;
mod watch;

use portcullis_gates::{Constraint, Scope};
use portcullis_store::Home;

use crate::arguments::{self, Format};
use crate::failure::{OrExit as _, one_line};
use crate::gateway::runtime;
use crate::operator::{AnswerRequest, Connection, ConnectionError, Gateways, Shown};
use crate::settings::Settings;
use crate::{Exit, Failure, report};

use print::{Detail, Done, Listing};

/// Runs one of the commands.
pub(crate) fn run(settings: &Settings, arguments: &arguments::Approvals) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        match arguments {
            arguments::Approvals::List(format) => list(&home, *format).await,
            arguments::Approvals::Show(show) => self::show(&home, show).await,
            arguments::Approvals::Allow(allow) => self::allow(&home, allow).await,
            arguments::Approvals::Deny(deny) => {
                let answers = deny.ids.iter().map(|id| refusal(id)).collect();
                answer(&home, answers, None, deny.format).await
            }
            arguments::Approvals::Watch(format) => watch::run(&home, *format).await,
            arguments::Approvals::Passphrase(passphrase) => passphrase::set(&home, passphrase),
        }
    });
    runtime.shutdown_background();
    outcome
}

pub(crate) async fn connect(home: &Home) -> Result<Vec<Connection>, Failure> {
    let gateways = Gateways::of(home).or_exit(Exit::State, "opening the folder for approvals")?;
    gateways.connect().await.or_exit(Exit::State, "looking for running gateways")
}

/// Returns the questions of all gateways, the oldest first.
async fn all(home: &Home) -> Result<(usize, Vec<Shown>), Failure> {
    let mut connections = connect(home).await?;
    let mut all = Vec::new();
    for connection in &mut connections {
        match connection.list().await {
            Ok(mut questions) => all.append(&mut questions),
            Err(error) => unreachable_gateway(&error),
        }
    }
    all.sort_by(|left, right| left.asked_at.cmp(&right.asked_at).then_with(|| left.id.cmp(&right.id)));
    Ok((connections.len(), all))
}

fn unreachable_gateway(error: &ConnectionError) {
    tracing::warn!(error = error as &dyn std::error::Error, "a gateway does not answer");
}

async fn list(home: &Home, format: Format) -> Result<Exit, Failure> {
    let (gateways, questions) = all(home).await?;
    report::print(&Listing { gateways, questions }, format)?;
    Ok(Exit::Success)
}

async fn show(home: &Home, arguments: &arguments::ShowApproval) -> Result<Exit, Failure> {
    let (_, questions) = all(home).await?;
    let found = questions.into_iter().find(|shown| shown.id == arguments.id).ok_or_else(|| unknown(&arguments.id))?;
    report::print(&Detail(found), arguments.format)?;
    Ok(Exit::Success)
}

fn unknown(id: &str) -> Failure {
    Failure::new(Exit::Failed, format!("no running gateway has a question `{}`", one_line(id)))
        .hint("`portcullis approvals list` shows all that are open")
}

async fn allow(home: &Home, arguments: &arguments::Allow) -> Result<Exit, Failure> {
    let constraint = Constraint::parse(arguments.constrain.iter().map(String::as_str))
        .or_exit(Exit::Usage, "reading the constraint")?;
    let scope = arguments.holds.map(Scope::from);
    let answers = arguments
        .ids
        .iter()
        .map(|id| AnswerRequest {
            id: id.clone(),
            allow: true,
            scope,
            constraint: constraint.clone(),
            passphrase: None,
        })
        .collect();
    answer(home, answers, arguments.passphrase_file.as_deref(), arguments.format).await
}

fn refusal(id: &str) -> AnswerRequest {
    AnswerRequest { id: id.to_owned(), allow: false, scope: None, constraint: Constraint::default(), passphrase: None }
}

/// Sends answers, each to the gateway that asks.
async fn answer(
    home: &Home,
    answers: Vec<AnswerRequest>,
    file: Option<&std::path::Path>,
    format: Format,
) -> Result<Exit, Failure> {
    let mut connections = connect(home).await?;
    let mut known = file.map(passphrase::from_file).transpose()?;
    let mut done = Vec::new();
    for mut answer in answers {
        answer.passphrase.clone_from(&known);
        let mut outcome = send(&mut connections, &answer).await?;
        if let Err((code, _)) = &outcome
            && code == "passphrase-needed"
        {
            known = Some(passphrase::ask("Passphrase: ")?);
            answer.passphrase.clone_from(&known);
            // The gateway may have waited for the person longer than it waits for a line.
            connections = connect(home).await?;
            outcome = send(&mut connections, &answer).await?;
        }
        match outcome {
            Ok(what) => done.push((answer.id, answer.allow, what)),
            Err((_, message)) => {
                report::print(&Done(done), format)?;
                let failure = Failure::new(Exit::Failed, format!("`{}`: {}", one_line(&answer.id), one_line(&message)));
                return Err(failure);
            }
        }
    }
    report::print(&Done(done), format)?;
    Ok(Exit::Success)
}

type Outcome = Result<String, (String, String)>;

async fn send(connections: &mut [Connection], answer: &AnswerRequest) -> Result<Outcome, Failure> {
    for connection in connections {
        match connection.answer(answer).await {
            Ok(Err((code, _))) if code == "unknown" => {}
            Ok(outcome) => return Ok(outcome),
            Err(error) => unreachable_gateway(&error),
        }
    }
    Err(unknown(&answer.id))
}

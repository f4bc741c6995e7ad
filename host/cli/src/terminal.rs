//! The person at the terminal that a command was started from.

use std::fmt::Write as _;
use std::future::Future;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::pin::Pin;
use std::sync::Arc;

use portcullis_config::{Approvals, OperatorProof};
use portcullis_gates::{Approver, NoApprover, Prompt, Reply, Scope};
use portcullis_model::ApproverClass;
use portcullis_store::Home;

use crate::failure::{OrExit as _, one_line};
use crate::{Exit, Failure};

/// Returns true where somebody can be asked: they see what is printed, and type what is read.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints a prompt and reads a line.
pub(crate) fn ask_line(prompt: &str) -> Result<String, Failure> {
    let doing = "asking on the terminal";
    let mut err = io::stderr().lock();
    write!(err, "{prompt}").and_then(|()| err.flush()).or_exit(Exit::Usage, doing)?;
    let mut line = String::new();
    let count = io::stdin().lock().read_line(&mut line).or_exit(Exit::Usage, doing)?;
    if count == 0 {
        let _unwritable = writeln!(err);
    }
    Ok(line.trim().to_owned())
}

/// Asks a question that only a written yes answers with yes.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    let answer = ask_line(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// Returns who answers what policies ask about a server entry: the person at the terminal, where the config lets one.
pub(crate) fn approver(home: &Home, approvals: &Approvals) -> Result<Arc<dyn Approver>, Failure> {
    Ok(match person(home, approvals)? {
        Some(person) => Arc::new(person),
        None => Arc::new(NoApprover),
    })
}

/// Returns the person at the terminal, where there is one whom the config lets answer.
pub(crate) fn person(home: &Home, approvals: &Approvals) -> Result<Option<Person>, Failure> {
    if !approvals.operator || !is_there() {
        return Ok(None);
    }
    if approvals.proof != OperatorProof::Passphrase {
        return Ok(Some(Person { proof: None }));
    }
    proof(home).map(|proof| proof.map(|proof| Person { proof: Some(proof) }))
}

#[cfg(unix)]
type Proof = crate::operator::Passphrase;

#[cfg(unix)]
fn proof(home: &Home) -> Result<Option<Proof>, Failure> {
    crate::operator::Passphrase::read(home).or_exit(Exit::State, "reading the passphrase of approvals")
}

/// There is no passphrase here that could be set.
#[cfg(not(unix))]
type Proof = std::convert::Infallible;

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
fn proof(_home: &Home) -> Result<Option<Proof>, Failure> {
    Ok(None)
}

/// Somebody at the terminal.
#[derive(Debug)]
pub(crate) struct Person {
    /// What they have to know.
    proof: Option<Proof>,
}

impl Person {
    /// Shows what is asked and returns whether it was answered with yes, and with what that needs.
    pub(crate) fn answer(&self, prompt: &Prompt, question: &str) -> Result<bool, Failure> {
        let about = if prompt.name.is_empty() { String::new() } else { format!(", `{}`", one_line(&prompt.name)) };
        let mut shown = format!("\nA policy asks about the server `{}`{about}:\n", one_line(&prompt.server));
        for asked in &prompt.questions {
            let (policy, asked) = (&asked.policy, &asked.question);
            let severity = asked.severity.as_str();
            let _infallible = writeln!(shown, "  {policy} ({}, {severity}): {}", asked.code, one_line(&asked.text));
        }
        let _infallible = writeln!(shown, "  what it is about: {}", one_line(&prompt.arguments));
        io::stderr().lock().write_all(shown.as_bytes()).or_exit(Exit::Usage, "asking on the terminal")?;
        Ok(confirm(question)? && self.prove()?)
    }

    #[cfg(unix)]
    fn prove(&self) -> Result<bool, Failure> {
        match &self.proof {
            None => Ok(true),
            Some(passphrase) => {
                Ok(passphrase.is(&crate::commands::approvals::passphrase::ask("Passphrase of approvals: ")?))
            }
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    fn prove(&self) -> Result<bool, Failure> {
        Ok(self.proof.is_none())
    }
}

impl Approver for Person {
    fn class(&self) -> Option<ApproverClass> {
        Some(ApproverClass::Operator)
    }

    fn surface(&self) -> &'static str {
        "terminal"
    }

    /// Nothing else happens meanwhile: the command waits for its operator.
    fn ask(&self, prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        let reply = match self.answer(&prompt, "Allow it, now and whenever it starts as it is?") {
            Ok(true) => Reply::Approved(Scope::Always),
            Ok(false) => Reply::Declined,
            Err(_) => Reply::Unavailable,
        };
        Box::pin(std::future::ready(reply))
    }
}

//! Stand-ins for policies, approvers and journals, for the tests of this crate and of those above it.
//!
//! ```
//! use std::sync::Arc;
//! use portcullis_gates::testing::{Fixed, policy, session};
//! use portcullis_gates::{Gates, NoApprover, NoJournal, PolicySet};
//! use portcullis_model::{Answer, GateName, Verdict};
//!
//! let allow = policy("allow", &[GateName::Call], Fixed(Answer::Verdict(Verdict::allow())));
//! let gates = Gates::new(PolicySet::new(vec![Arc::new(allow)]), Arc::new(NoJournal));
//! let context = gates.context(session("one"), Arc::new(NoApprover), None);
//! assert_eq!(context.set.chain(GateName::Call).count(), 1);
//! ```

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_model::{
    Answer, ApproverClass, ClientFacts, Denial, Description, Digest, Era, Facts, GateName, PolicyName, Principal,
    Question, Rights, Rule, RuleId, Selection, SessionId, Severity, Subject, Verdict,
};

use crate::{
    ActivePolicy, Approver, Cost, Evaluate, Evaluation, EvaluationFuture, Fault, Journal, JournalError, JournalFuture,
    Mode, OnFault, PolicySource, Prompt, Record, Reply, Session,
};

/// Answers the same to everything.
#[derive(Clone, Debug)]
pub struct Fixed(pub Answer);

impl Evaluate for Fixed {
    fn evaluate<'a>(&'a self, _facts: &'a Facts, _subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(ready(Evaluation { outcome: Ok(self.0.clone()), cost: Cost::default() }))
    }
}

/// Breaks in the same way on everything.
#[derive(Clone, Debug)]
pub struct Broken(pub Fault);

impl Evaluate for Broken {
    fn evaluate<'a>(&'a self, _facts: &'a Facts, _subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(ready(Evaluation { outcome: Err(self.0.clone()), cost: Cost::default() }))
    }
}

/// Judges by a function.
pub struct Judge<F>(pub F);

impl<F> fmt::Debug for Judge<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Judge(…)")
    }
}

impl<F> Evaluate for Judge<F>
where
    F: Fn(&Facts, &Subject) -> Result<Answer, Fault> + Send + Sync,
{
    fn evaluate<'a>(&'a self, facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(ready(Evaluation { outcome: (self.0)(facts, subject), cost: Cost::default() }))
    }
}

/// Has no objection at any gate and withholds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Evaluate for AllowAll {
    fn evaluate<'a>(&'a self, _facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(ready(Evaluation { outcome: Ok(answer(subject, &Verdict::allow())), cost: Cost::default() }))
    }
}

/// Gives a verdict in the form that the gate of the subject wants; at the environment gate, withholds nothing.
pub fn answer(subject: &Subject, verdict: &Verdict) -> Answer {
    match subject {
        Subject::Listing(batch) => Answer::Verdicts(vec![verdict.clone(); batch.items.len()]),
        Subject::Environment(_) => Answer::Selection(Selection {
            removed: Vec::new(),
            findings: verdict.findings.clone(),
            extensions: verdict.extensions.clone(),
        }),
        Subject::Config(_) | Subject::Call(_) | Subject::Result(_) | Subject::Request(_) => {
            Answer::Verdict(verdict.clone())
        }
    }
}

/// Returns a verdict that denies.
///
/// # Panics
///
/// Panics where the code is not made of lowercase words joined by hyphens.
pub fn deny(code: &str) -> Verdict {
    let denial = Denial { code: rule_id(code), message: format!("denied for {code}") };
    Verdict { decision: portcullis_model::Decision::Deny(denial), ..Verdict::allow() }
}

/// Returns a verdict that asks one question of the given class.
///
/// # Panics
///
/// Panics where the code is not made of lowercase words joined by hyphens.
pub fn ask(code: &str, lowest_approver: ApproverClass) -> Verdict {
    let question =
        Question { code: rule_id(code), text: format!("may {code}?"), severity: Severity::Medium, lowest_approver };
    Verdict { decision: portcullis_model::Decision::Ask(vec![question]), ..Verdict::allow() }
}

/// Returns a rule id.
///
/// # Panics
///
/// Panics where the text is not made of lowercase words joined by hyphens.
pub fn rule_id(text: &str) -> RuleId {
    RuleId::parse(text).expect("a rule id is lowercase words joined by hyphens")
}

/// Returns an enforcing policy with every right at the given gates. It declares the rule `rule`, the label
/// `read:untrusted` and the meter `meter` with a window of a minute.
///
/// # Panics
///
/// Panics where the name is not made of lowercase words joined by hyphens.
pub fn policy(name: &str, gates: &[GateName], evaluator: impl Evaluate + 'static) -> ActivePolicy {
    let description = Description {
        name: PolicyName::parse(name).expect("a policy name is lowercase words joined by hyphens"),
        version: "1.0.0".to_owned(),
        summary: String::new(),
        rules: vec![Rule { id: rule_id("rule"), severity: Severity::High, summary: String::new() }],
        labels: vec!["read:untrusted".to_owned()],
        meters: vec![portcullis_model::Meter { name: "meter".to_owned(), window_seconds: 60 }],
        wants: Rights::ALL,
        needs_payload: true,
    };
    ActivePolicy {
        description: Arc::new(description),
        digest: Digest::of(name.as_bytes()),
        source: PolicySource::Bundle,
        gates: gates.to_vec(),
        rights: Rights::ALL,
        mode: Mode::Enforce,
        on_fault: OnFault::Deny,
        evaluator: Arc::new(evaluator),
    }
}

/// Returns a session of the `initialize` era.
///
/// # Panics
///
/// Panics where the id has spaces or control characters.
pub fn session(id: &str) -> Arc<Session> {
    let id = SessionId::parse(id).expect("a session id is graphic ASCII");
    let principal = Principal::parse("tester").expect("the name is valid");
    Arc::new(Session::new(id, principal, ClientFacts::default(), Era::Initialize))
}

/// Keeps every record.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Vec<Record>>);

impl Kept {
    /// Returns the records so far.
    pub fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for Kept {
    fn write(&self, record: Record) -> JournalFuture<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        Box::pin(ready(Ok(())))
    }
}

/// Cannot write.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullDisk;

impl Journal for FullDisk {
    fn write(&self, _record: Record) -> JournalFuture<'_> {
        Box::pin(ready(Err(JournalError("no space left".to_owned()))))
    }
}

/// Answers every prompt alike and keeps what it was asked.
#[derive(Debug)]
pub struct Always {
    class: ApproverClass,
    reply: Reply,
    prompts: Mutex<Vec<Prompt>>,
}

impl Always {
    /// Returns an approver of a class that always replies the same.
    pub fn new(class: ApproverClass, reply: Reply) -> Self {
        Self { class, reply, prompts: Mutex::default() }
    }

    /// Returns the prompts so far.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Approver for Always {
    fn class(&self) -> Option<ApproverClass> {
        Some(self.class)
    }

    fn ask(&self, prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).push(prompt);
        Box::pin(ready(self.reply))
    }
}

/// Never answers.
#[derive(Clone, Copy, Debug)]
pub struct Silent(pub ApproverClass);

impl Approver for Silent {
    fn class(&self) -> Option<ApproverClass> {
        Some(self.0)
    }

    fn ask(&self, _prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

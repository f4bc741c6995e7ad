//! Answering a question.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use portcullis_model::ApproverClass;
use tokio::time::Instant;

use super::entry::{Entry, Given, Shape, usual};
use super::{Inbox, Pending};
use crate::approval::grants_for;
use crate::session::lock;
use crate::{
    ApprovalEvent, ApprovalRecord, Bound, Constraint, Gates, GrantError, JournalError, Record, RecordedDecision,
    RefusalCode, Scope,
};

/// An operator's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorAnswer {
    /// Yes or no.
    pub allow: bool,
    /// For how long; nothing for what is usual at the gate.
    pub scope: Option<Scope>,
    /// For which arguments it holds beyond those that were shown.
    pub constraint: Constraint,
    /// Where it was given, in a word for the journal.
    pub surface: String,
}

/// What an answer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerEffect {
    /// The message that waited goes on, or is refused.
    Released,
    /// It is found by the same message when it comes again, or by the thing when it is judged again, which is now.
    Kept,
}

/// An answer did not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nothing of that name is asked (any more).
    #[error("no question `{0}` is open here")]
    Unknown(String),
    /// Another answer was first.
    #[error("it was answered already")]
    Late,
    /// The arguments that were shown do not fulfil the constraint, so it cannot be meant.
    #[error("the constraint does not hold for what is asked")]
    Constraint,
    /// A constraint only makes sense for what is remembered.
    #[error("a constraint needs an approval that is remembered; hint: add `--for session` or `--for always`")]
    NotRemembered,
    /// The arguments are too large to try a constraint on.
    #[error("the arguments are too large for a constraint")]
    TooLarge,
    /// It needs an operator.
    #[error("it needs an operator: `{0}` cannot be answered by a client")]
    Class(String),
    /// It could not be kept.
    #[error("the answer could not be kept")]
    Keep(#[source] GrantError),
    /// It could not be recorded.
    #[error("the answer could not be recorded")]
    Record(#[source] JournalError),
}

impl AnswerError {
    /// Returns the stable code: `unknown`, `late`, `needs-operator` or `refused`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown",
            Self::Late => "late",
            Self::Class(_) => "needs-operator",
            Self::Constraint | Self::NotRemembered | Self::TooLarge | Self::Keep(_) | Self::Record(_) => "refused",
        }
    }
}

/// A question that nobody waits for, taken out to be answered.
struct Decided {
    questions: Vec<Bound>,
    instance: String,
    shape: Shape,
    record: Record,
}

impl Inbox {
    /// Gives an answer to a question. The first one counts; after a yes, a no counts as well until the release.
    pub(super) fn give(&self, id: &str, given: Given) -> Result<(), AnswerError> {
        let mut state = lock(&self.shared.state);
        let entry = state.entries.get_mut(id).ok_or_else(|| AnswerError::Unknown(id.to_owned()))?;
        match &entry.given {
            Some(before) if !before.allow || given.allow => return Err(AnswerError::Late),
            Some(_) | None => {}
        }
        entry.given = Some(given);
        let told = Arc::clone(&entry.told);
        drop(state);
        told.notify_one();
        self.note_change();
        Ok(())
    }

    /// Returns one question.
    pub fn find(&self, id: &str) -> Option<Pending> {
        self.pending().into_iter().find(|pending| pending.id == id)
    }

    fn check(&self, id: &str, answer: &OperatorAnswer) -> Result<Scope, AnswerError> {
        let mut state = lock(&self.shared.state);
        state.drop_expired(Instant::now());
        let entry = state.entries.get(id).ok_or_else(|| AnswerError::Unknown(id.to_owned()))?;
        let scope = answer.scope.unwrap_or_else(|| usual(entry.prompt.gate));
        if answer.allow && !answer.constraint.clauses().is_empty() {
            if scope == Scope::Once {
                return Err(AnswerError::NotRemembered);
            }
            let arguments = entry.arguments.as_ref().ok_or(AnswerError::TooLarge)?;
            if !answer.constraint.holds(arguments) {
                return Err(AnswerError::Constraint);
            }
        }
        Ok(scope)
    }

    /// Returns what is needed to keep an answer that nobody waits for; nothing where a message does.
    fn unattended(&self, id: &str, given: &Given) -> Option<Decided> {
        let state = lock(&self.shared.state);
        let entry = state.entries.get(id).filter(|entry| entry.shape != Shape::Waiting)?;
        Some(Decided {
            questions: entry.questions.clone(),
            instance: entry.session.instance().to_owned(),
            shape: entry.shape,
            record: record(entry, given),
        })
    }

    /// Takes an answer back that could not be kept.
    fn reopen(&self, id: &str) {
        if let Some(entry) = lock(&self.shared.state).entries.get_mut(id) {
            entry.given = None;
        }
        self.note_change();
    }

    fn remove(&self, id: &str) {
        lock(&self.shared.state).entries.remove(id);
        self.note_change();
    }

    /// Keeps an answered question for the same message, which has so long to come again.
    fn keep_for(&self, id: &str, wait: Duration) {
        if let Some(entry) = lock(&self.shared.state).entries.get_mut(id)
            && entry.shape == Shape::Retry
        {
            entry.deadline = Some(Instant::now() + wait);
        }
    }
}

impl Gates {
    /// Answers a question of the inbox as an operator. What waits goes on at once; what stands is judged again.
    pub async fn answer(&self, id: &str, answer: OperatorAnswer) -> Result<AnswerEffect, AnswerError> {
        self.answer_as(ApproverClass::Operator, id, answer).await
    }

    /// Answers a question of the inbox as what a class is worth: a client answers what clients may, for once or for the
    /// session. Whether this client may answer this question at all is for the caller to know.
    pub async fn answer_as(
        &self,
        class: ApproverClass,
        id: &str,
        answer: OperatorAnswer,
    ) -> Result<AnswerEffect, AnswerError> {
        let inbox = self.inbox();
        let scope = inbox.check(id, &answer)?.limited_to(class);
        // It was there a moment ago; where it is not any more, giving the answer says so.
        if inbox.find(id).is_some_and(|pending| pending.lowest_approver > class) {
            return Err(AnswerError::Class(id.to_owned()));
        }
        let OperatorAnswer { allow, scope: _, constraint, surface } = answer;
        let given = Given { allow, scope, constraint, class, surface };
        inbox.give(id, given.clone())?;
        let Some(decided) = inbox.unattended(id, &given) else {
            return Ok(AnswerEffect::Released);
        };
        let server = decided.record.server.clone();
        match self.keep_answer(id, &given, decided).await {
            Ok(()) => {
                // Nobody may listen: then nothing is judged again before the next occasion.
                let _unheard = self.answered.send(server);
                Ok(AnswerEffect::Kept)
            }
            Err(error) => {
                inbox.reopen(id);
                Err(error)
            }
        }
    }

    /// Has everything judged again that approvals may have changed: somebody took grants back.
    pub fn forget_answers(&self) {
        let _unheard = self.answered.send(String::new());
    }

    async fn keep_answer(&self, id: &str, given: &Given, decided: Decided) -> Result<(), AnswerError> {
        let Decided { questions, instance, shape, mut record } = decided;
        // A no to what stands is remembered, or it would be asked again at the next start. One to a message is found by
        // the same message for a while.
        let remembers = given.scope != Scope::Once && (given.allow || shape == Shape::Standing);
        if remembers {
            let grants = grants_for(&questions, given, &instance, self.limits);
            for (approval, grant) in record.approvals.iter_mut().zip(&grants) {
                approval.grant = Some(grant.id.clone());
            }
            self.add_grants(grants).await.map_err(AnswerError::Keep)?;
        }
        self.journal.write(record).await.map_err(AnswerError::Record)?;
        if remembers {
            self.inbox().remove(id);
        } else {
            self.inbox().keep_for(id, self.limits.wait);
        }
        Ok(())
    }
}

/// Returns the record of an answer that no passage takes up yet.
fn record(entry: &Entry, given: &Given) -> Record {
    let event = if given.allow { ApprovalEvent::Approved(given.scope) } else { ApprovalEvent::Declined };
    let approval = |bound: &Bound| ApprovalRecord {
        policy: bound.policy.clone(),
        code: bound.code.clone(),
        event,
        class: given.class,
        surface: given.surface.clone(),
        grant: None,
    };
    let first = entry.questions.first();
    Record {
        at: SystemTime::now(),
        session: entry.session.id.as_str().to_owned(),
        gate: entry.prompt.gate,
        server: first.map(|bound| bound.server.clone()).unwrap_or_default(),
        name: first.map(|bound| bound.name.clone()).unwrap_or_default(),
        subject: entry.subject,
        generation: entry.generation,
        decision: if given.allow {
            RecordedDecision::Approved
        } else {
            RecordedDecision::Refused(RefusalCode::Declined.as_str().to_owned())
        },
        decided_by: None,
        policies: Vec::new(),
        approvals: entry.questions.iter().map(approval).collect(),
        elapsed: Duration::ZERO,
        inputs: Vec::new(),
    }
}

//! Answers that were given before.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use portcullis_model::json::Value;
use portcullis_model::{Digest, GateName};

use super::{Asked, Scope};
use crate::grant::new_id;
use crate::inbox::Given;
use crate::passage::{Passage, Refused};
use crate::{ApprovalEvent, ApprovalLimits, ApprovalRecord, Bound, Gates, Grant, GrantError, RefusalCode};

/// What is approved for a session holds so long at most, should the session last longer or its end be missed.
const LONGEST_SESSION: Duration = Duration::from_hours(24);

/// Names of grants have so many letters: 32^8 of them.
const GRANT_LETTERS: usize = 8;

/// What is remembered of a question.
#[derive(Debug)]
pub(crate) enum Memory {
    /// Nothing: somebody must be asked.
    Nothing,
    /// It was approved.
    Approved,
    /// It was refused.
    Refused(Refused),
}

impl Passage<'_> {
    /// Returns what an answer to a question of this passage is bound to.
    pub(crate) fn bound(&self, asked: &Asked, kind: &str, definition: Option<Digest>) -> Bound {
        let identity = match (self.gate, definition) {
            // What is approved there is the very entry that is to be reached.
            (GateName::Config, Some(entry)) => entry,
            _ => self.gates.identity(&self.server),
        };
        Bound {
            gate: self.gate,
            policy: asked.policy.clone(),
            code: asked.question.code.clone(),
            server: self.server.as_str().to_owned(),
            identity,
            kind: kind.to_owned(),
            name: self.name.clone(),
            definition,
            principal: self.context.session.principal.clone(),
        }
    }
}

/// Looks for a grant that answers a question, and notes its use. Refusals win over approvals. Where grants cannot be
/// read, somebody is asked.
pub(crate) fn recall(passage: &mut Passage<'_>, asked: &Asked, bound: &Bound, arguments: &Value) -> Memory {
    let grants = passage.gates.grants.find(&bound.key()).unwrap_or_else(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "grants could not be read: the question is asked");
        Vec::new()
    });
    let session = passage.context.session.instance();
    let (class, now) = (asked.question.lowest_approver, SystemTime::now());
    let answering = |grant: &&Grant| grant.answers(bound, session, class, arguments, now);
    let refusal = grants.iter().filter(answering).find(|grant| !grant.allows);
    let Some(grant) = refusal.or_else(|| grants.iter().find(answering)) else {
        return Memory::Nothing;
    };
    let note = ApprovalRecord {
        policy: bound.policy.clone(),
        code: bound.code.clone(),
        event: if grant.allows { ApprovalEvent::Granted } else { ApprovalEvent::Barred },
        class: grant.class,
        surface: grant.surface.clone(),
        grant: Some(grant.id.clone()),
    };
    if !passage.approvals.contains(&note) {
        passage.approvals.push(note);
    }
    if grant.allows {
        return Memory::Approved;
    }
    let detail = format!("refused before ({})", grant.id);
    Memory::Refused(Refused::by_policy(RefusalCode::Declined, &bound.policy, detail))
}

/// Returns the grants of an answer, one a question: none where it was given once. `session` is the session's own name.
pub(crate) fn grants_for(questions: &[Bound], given: &Given, session: &str, limits: ApprovalLimits) -> Vec<Grant> {
    let (session, lifetime) = match given.scope {
        Scope::Once => return Vec::new(),
        Scope::Session => (Some(session.to_owned()), limits.expire.min(LONGEST_SESSION)),
        Scope::Always => (None, limits.expire),
    };
    let given_at = SystemTime::now();
    let one = |bound: &Bound| Grant {
        id: new_id(GRANT_LETTERS),
        bound: bound.clone(),
        constraint: given.constraint.clone(),
        allows: given.allow,
        class: given.class,
        surface: given.surface.clone(),
        given_at,
        expires_at: given_at.checked_add(lifetime).unwrap_or(given_at),
        session: session.clone(),
    };
    questions.iter().map(one).collect()
}

/// Keeps an approval of questions for as long as it was given, and returns the names of the grants. What cannot be kept
/// holds for this passage alone, which is told to the operator.
pub(crate) async fn keep(passage: &Passage<'_>, questions: &[Bound], given: &Given) -> Vec<String> {
    let grants = grants_for(questions, given, passage.context.session.instance(), passage.gates.limits);
    let ids = grants.iter().map(|grant| grant.id.clone()).collect();
    match passage.gates.add_grants(grants).await {
        Ok(()) => ids,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "an approval could not be kept: it holds once");
            Vec::new()
        }
    }
}

impl Gates {
    /// Adds grants, off the threads that carry messages.
    pub(crate) async fn add_grants(&self, new: Vec<Grant>) -> Result<(), GrantError> {
        if new.is_empty() {
            return Ok(());
        }
        let grants = Arc::clone(&self.grants);
        let added = tokio::task::spawn_blocking(move || grants.add(&new)).await;
        added.unwrap_or_else(|panicked| Err(GrantError::Store(Box::new(panicked))))
    }
}

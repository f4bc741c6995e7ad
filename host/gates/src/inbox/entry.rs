//! One question in the inbox.

use std::sync::Arc;
use std::time::SystemTime;

use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Digest, GateName, Principal};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Pending;
use crate::{Bound, Constraint, Prompt, Scope, Session};

/// What becomes of a message about which somebody must be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It is held until somebody could answer.
    Wait,
    /// It waits where somebody is there; else the same message finds the answer when it comes again.
    Retry,
    /// The question stands, and the thing is judged again once it is answered.
    Stand,
    /// It is refused where nobody can be asked at once.
    Never,
}

/// Who waits for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A message.
    Waiting,
    /// Nobody: the same message comes again.
    Retry,
    /// Nobody: the thing is judged again.
    Standing,
}

/// One question, or several about one thing.
#[derive(Debug)]
pub(super) struct Entry {
    /// Exactly what is asked by whom: the same message again has the same.
    pub(super) place: Digest,
    /// What it is about, whatever it is like.
    pub(super) thing: Digest,
    pub(super) shape: Shape,
    pub(super) prompt: Prompt,
    pub(super) kind: String,
    pub(super) principal: Principal,
    pub(super) session: Arc<Session>,
    pub(super) lowest: ApproverClass,
    pub(super) questions: Vec<Bound>,
    /// What the constraint of a grant looks at; nothing where it is too large to keep.
    pub(super) arguments: Option<Value>,
    pub(super) subject: Digest,
    pub(super) generation: u64,
    pub(super) asked_at: SystemTime,
    /// Until when it can be answered; nothing where it stands.
    pub(super) deadline: Option<Instant>,
    pub(super) given: Option<Given>,
    /// Told when it is answered.
    pub(super) told: Arc<Notify>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) allow: bool,
    pub(crate) scope: Scope,
    pub(crate) constraint: Constraint,
    pub(crate) class: ApproverClass,
    pub(crate) surface: String,
}

impl Entry {
    pub(super) fn to_pending(&self, id: &str) -> Pending {
        Pending {
            id: id.to_owned(),
            kind: self.kind.clone(),
            prompt: self.prompt.clone(),
            principal: self.principal.clone(),
            session: self.session.id.as_str().to_owned(),
            lowest_approver: self.lowest,
            asked_at: self.asked_at,
            left: self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
            waits: self.shape == Shape::Waiting,
            answered: self.given.as_ref().map(|given| given.allow),
            usual: usual(self.prompt.gate),
        }
    }
}

/// Returns for how long an approval holds where nothing else is said: what is called is approved once; what stands is
/// approved as it is.
pub(super) fn usual(gate: GateName) -> Scope {
    match gate {
        GateName::Config | GateName::Environment | GateName::Listing => Scope::Always,
        GateName::Call | GateName::Result | GateName::Request => Scope::Once,
    }
}

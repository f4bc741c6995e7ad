//! Grants: approvals and refusals that are remembered.
//!
//! A grant answers one question: of one policy, with one code, about one thing of one server as it was then defined, for
//! one principal, and only while its constraint holds and it has not expired. The host matches it; policies never see it.
//! It satisfies no other question and never a denial.

mod constraint;
mod in_memory;

use std::fmt;
use std::time::{Duration, SystemTime};

use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Digest, GateName, PolicyName, Principal, RuleId};

use crate::{ApprovalEvent, ApprovalRecord, Record, RecordedDecision};

pub use constraint::{Clause, Constraint, ConstraintError, Test};
pub(crate) use in_memory::InMemory;

/// What exactly a grant answers. Two questions that differ in any of it are two questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The gate.
    pub gate: GateName,
    /// The policy that asks.
    pub policy: PolicyName,
    /// The code of its question.
    pub code: RuleId,
    /// The name that the config gives to the server.
    pub server: String,
    /// Which server that is: a digest of how it is reached. Another command under an old name is another server.
    pub identity: Digest,
    /// What kind of thing is judged: `tool`, `prompt`, `server`, `result` and so on.
    pub kind: String,
    /// The server's own name of it.
    pub name: String,
    /// Digest of its definition, or of the very content where that is what was approved; nothing where neither exists.
    pub definition: Option<Digest>,
    /// Whose passage it is.
    pub principal: Principal,
}

impl Bound {
    /// Returns the digest under which a store finds it.
    pub fn key(&self) -> Digest {
        let definition = self.definition.map(|digest| *digest.as_bytes());
        Digest::of_parts([
            self.gate.as_str().as_bytes(),
            self.policy.as_str().as_bytes(),
            self.code.as_str().as_bytes(),
            self.server.as_bytes(),
            self.identity.as_bytes(),
            self.kind.as_bytes(),
            self.name.as_bytes(),
            definition.as_ref().map_or(&[][..], |bytes| &bytes[..]),
            self.principal.as_str().as_bytes(),
        ])
    }
}

/// A remembered answer to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// Its opaque name, by which it is shown and revoked.
    pub id: String,
    /// The question that it answers.
    pub bound: Bound,
    /// For which arguments.
    pub constraint: Constraint,
    /// True for an approval; false for a refusal that is remembered.
    pub allows: bool,
    /// The class that its answer counts for.
    pub class: ApproverClass,
    /// Where it was given: `terminal`, `client`.
    pub surface: String,
    /// When it was given.
    pub given_at: SystemTime,
    /// From when on it counts for nothing.
    pub expires_at: SystemTime,
    /// The session that it ends with; nothing where it outlives sessions.
    pub session: Option<String>,
}

impl Grant {
    /// Returns true where it answers a question of that session that demands that class, asked about those arguments at
    /// that time. A refusal counts whatever class the question demands: a grant of any class may tighten.
    pub fn answers(
        &self,
        bound: &Bound,
        session: &str,
        class: ApproverClass,
        arguments: &Value,
        now: SystemTime,
    ) -> bool {
        self.bound == *bound
            && self.session.as_deref().is_none_or(|own| own == session)
            && (!self.allows || self.class >= class)
            && now < self.expires_at
            && self.constraint.holds(arguments)
    }
}

impl Grant {
    /// Returns the record of its being taken back at a surface.
    pub fn revocation(&self, surface: &str) -> Record {
        let bound = &self.bound;
        Record {
            at: SystemTime::now(),
            session: self.session.clone().unwrap_or_default(),
            gate: bound.gate,
            server: bound.server.clone(),
            name: bound.name.clone(),
            subject: bound.definition.unwrap_or_else(|| bound.key()),
            generation: 0,
            decision: RecordedDecision::Revoked,
            decided_by: None,
            policies: Vec::new(),
            approvals: vec![ApprovalRecord {
                policy: bound.policy.clone(),
                code: bound.code.clone(),
                event: ApprovalEvent::Revoked,
                class: ApproverClass::Operator,
                surface: surface.to_owned(),
                grant: Some(self.id.clone()),
            }],
            elapsed: Duration::ZERO,
            inputs: Vec::new(),
        }
    }
}

/// So many grants one home keeps: a person gives fewer, and a search looks at those of one question only.
pub const MOST_GRANTS: usize = 10_000;

/// So many grants answer one question, each with its own constraint; all of them are looked at.
pub const MOST_ALIKE: usize = 256;

/// A grant could not be kept or looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// As many are kept as may be.
    #[error("as many grants are kept as may be; revoke some")]
    Full,
    /// The store failed.
    #[error("the store of grants failed")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Keeps grants. Shared by all gateways of a home: what one of them or a command changes, the others see at their next
/// look.
pub trait Grants: fmt::Debug + Send + Sync {
    /// Returns the grants under a key (see [`Bound::key`]), expired ones perhaps included; [`MOST_ALIKE`] at most. Takes
    /// tens of microseconds: it is called where a policy asks, on the thread of the message.
    fn find(&self, key: &Digest) -> Result<Vec<Grant>, GrantError>;

    /// Adds grants: all of them, or none. May take long: called off the threads that carry messages.
    fn add(&self, grants: &[Grant]) -> Result<(), GrantError>;

    /// Removes grants by name; returns those that were there. May take long.
    fn remove(&self, ids: &[String]) -> Result<Vec<Grant>, GrantError>;

    /// Removes what ends with a session. May take long.
    fn end_session(&self, session: &str) -> Result<(), GrantError>;
}

/// Returns a name that was not given before and cannot be guessed: lowercase letters and digits that are told apart when
/// read aloud, five bits each.
pub(crate) fn new_id(length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0_u8; length];
    if getrandom::fill(&mut bytes).is_err() {
        // Names that can be guessed give nothing away: who may answer is checked by other means.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let digest = Digest::of(&now.as_nanos().to_be_bytes());
        bytes = digest.as_bytes().iter().copied().cycle().take(length).collect();
    }
    bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32))).map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
pub(crate) mod tests;

//! Putting a question into the inbox, and waiting for its answer.

use std::sync::Arc;
use std::time::SystemTime;

use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Digest};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::entry::{Entry, Given, Shape};
use super::{Hold, Inbox, LONGEST_RETRY, MOST_STANDING, State, Ticket};
use crate::grant::new_id;
use crate::session::lock;
use crate::{ApprovalLimits, Approver, Bound, Constraint, Prompt, RefusalCode, Reply, Session};

/// Arguments of this size are kept beside a question, so that a constraint can be tried on them when it is given.
const LARGEST_ARGUMENTS: usize = 64 * 1024;

/// Names of questions have so many letters: 32^6 of them, and a person types one.
const ID_LETTERS: usize = 6;

/// What is asked about a message.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) hold: Hold,
    pub(crate) prompt: Prompt,
    pub(crate) kind: &'a str,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) lowest: ApproverClass,
    pub(crate) questions: Vec<Bound>,
    pub(crate) arguments: Value,
    pub(crate) subject: Digest,
    pub(crate) generation: u64,
}

/// Why nothing was approved.
#[derive(Debug, PartialEq)]
pub(crate) struct Unapproved {
    pub(crate) code: RefusalCode,
    /// The refusal, where somebody gave one.
    pub(crate) given: Option<Given>,
}

impl From<RefusalCode> for Unapproved {
    fn from(code: RefusalCode) -> Self {
        Self { code, given: None }
    }
}

/// Where a question went.
enum Put {
    /// A message waits for it.
    Waits(Ticket),
    /// It was answered with yes before.
    Approved(Ticket),
}

impl Asking<'_> {
    /// Returns the digest of what it is about, whatever it is like now.
    fn thing(&self) -> Digest {
        let prompt = &self.prompt;
        thing(prompt.gate, &prompt.server, self.kind, &prompt.name)
    }

    /// Returns the digest of exactly what is asked: the questions with all that answers are bound to, the arguments and
    /// the session.
    fn place(&self, arguments: &str) -> Digest {
        let keys: Vec<Digest> = self.questions.iter().map(Bound::key).collect();
        let own = [self.session.instance().as_bytes(), arguments.as_bytes()];
        Digest::of_parts(own.into_iter().chain(keys.iter().map(|key| &key.as_bytes()[..])))
    }
}

/// Returns the digest of a thing that is judged at a gate, by its names as they are shown.
pub(crate) fn thing(gate: portcullis_model::GateName, server: &str, kind: &str, name: &str) -> Digest {
    Digest::of_parts([gate.as_str().as_bytes(), server.as_bytes(), kind.as_bytes(), name.as_bytes()])
}

impl Inbox {
    /// Asks and waits as the table at [`super`] says. The ticket that comes back was approved, and must be released
    /// before what was approved happens.
    pub(crate) async fn ask(
        &self,
        asking: Asking<'_>,
        approver: &dyn Approver,
        limits: ApprovalLimits,
    ) -> Result<(Ticket, Given), Unapproved> {
        let eligible = approver.class().filter(|class| *class >= asking.lowest);
        let (hold, prompt) = (asking.hold, asking.prompt.clone());
        let ticket = match self.put(asking, eligible.is_some(), limits)? {
            Put::Waits(ticket) => ticket,
            Put::Approved(ticket) => {
                let given = ticket.answered().await;
                return Ok((ticket, given));
            }
        };
        let deadline = sleep_until(Instant::now() + limits.wait);
        tokio::pin!(deadline);
        let mut client = eligible.map(|class| (class, approver.ask(prompt)));
        loop {
            let reply = tokio::select! {
                // An operator's answer first: theirs may be a refusal of what a client approves at the same moment.
                biased;
                given = ticket.answered() => {
                    return if given.allow {
                        Ok((ticket, given))
                    } else {
                        Err(Unapproved { code: RefusalCode::Declined, given: Some(given) })
                    };
                }
                reply = async {
                    match &mut client {
                        Some((class, reply)) => (*class, reply.await),
                        None => std::future::pending().await,
                    }
                } => reply,
                () = &mut deadline => return Err(RefusalCode::ApprovalTimedOut.into()),
            };
            client = None;
            let (class, scope, allow) = match reply {
                (class, Reply::Approved(scope)) => (class, scope.limited_to(class), true),
                (class, Reply::Declined) => (class, crate::Scope::Once, false),
                (_, Reply::Unavailable) => {
                    if self.can_wait(hold) {
                        continue;
                    }
                    return Err(self.leave(ticket, hold));
                }
            };
            let surface = approver.surface().to_owned();
            let given = Given { allow, scope, constraint: Constraint::default(), class, surface };
            // Where an answer is there already, that one counts; it is seen at the next turn.
            let _second = self.give(ticket.id(), given);
        }
    }

    /// Puts a question that stands, or finds its answer.
    pub(crate) fn stand(&self, asking: Asking<'_>, limits: ApprovalLimits) -> Result<Ticket, Unapproved> {
        match self.put(asking, false, limits)? {
            Put::Approved(ticket) | Put::Waits(ticket) => Ok(ticket),
        }
    }

    fn put(&self, asking: Asking<'_>, is_eligible: bool, limits: ApprovalLimits) -> Result<Put, Unapproved> {
        let arguments = asking.arguments.to_canonical();
        let (place, thing) = (asking.place(&arguments), asking.thing());
        let now = Instant::now();
        let mut state = lock(&self.shared.state);
        state.drop_expired(now);
        let known = state
            .entries
            .iter()
            .find(|(_, entry)| entry.place == place && entry.shape != Shape::Waiting)
            .map(|(id, entry)| (id.clone(), entry.given.clone(), Arc::clone(&entry.told)));
        let known = match known {
            Some((id, Some(given), told)) if given.allow => {
                if let Some(entry) = state.entries.get_mut(&id) {
                    entry.shape = Shape::Waiting;
                }
                return Ok(Put::Approved(Ticket::new(self, id, told)));
            }
            Some((_, Some(given), _)) => {
                return Err(Unapproved { code: RefusalCode::Declined, given: Some(given) });
            }
            Some((id, None, told)) => Some((id, told)),
            None => None,
        };
        let shape = if is_eligible || state.can_wait(asking.hold) {
            Shape::Waiting
        } else if state.is_open && asking.hold == Hold::Retry {
            Shape::Retry
        } else if state.is_open && asking.hold == Hold::Stand {
            Shape::Standing
        } else {
            return Err(RefusalCode::NoApprover.into());
        };
        let wait = if shape == Shape::Waiting { limits.wait } else { LONGEST_RETRY };
        let deadline = (shape != Shape::Standing).then(|| now + wait);
        let (id, told) = if let Some((id, told)) = known {
            if let Some(entry) = state.entries.get_mut(&id) {
                entry.shape = shape;
                entry.deadline = deadline;
            }
            (id, told)
        } else {
            if shape == Shape::Standing {
                // What the thing was like before is not asked about any more.
                state.entries.retain(|_, entry| !(entry.shape == Shape::Standing && entry.thing == thing));
                if state.standing() >= MOST_STANDING {
                    return Err(RefusalCode::TooManyQuestions.into());
                }
            } else if state.waiting(&asking.session.principal) >= limits.waiting {
                return Err(RefusalCode::TooManyQuestions.into());
            }
            let told = Arc::new(Notify::new());
            let id = state.new_id();
            let entry = Entry {
                place,
                thing,
                shape,
                kind: asking.kind.to_owned(),
                principal: asking.session.principal.clone(),
                session: Arc::clone(asking.session),
                lowest: asking.lowest,
                arguments: (arguments.len() <= LARGEST_ARGUMENTS).then_some(asking.arguments),
                questions: asking.questions,
                prompt: asking.prompt,
                subject: asking.subject,
                generation: asking.generation,
                asked_at: SystemTime::now(),
                deadline,
                given: None,
                told: Arc::clone(&told),
            };
            state.entries.insert(id.clone(), entry);
            (id, told)
        };
        drop(state);
        self.note_change();
        match shape {
            Shape::Waiting => Ok(Put::Waits(Ticket::new(self, id, told))),
            Shape::Retry | Shape::Standing => Err(RefusalCode::ApprovalPending(id).into()),
        }
    }

    fn can_wait(&self, hold: Hold) -> bool {
        lock(&self.shared.state).can_wait(hold)
    }

    /// Leaves a question whose client could not be asked after all.
    fn leave(&self, ticket: Ticket, hold: Hold) -> Unapproved {
        let is_open = lock(&self.shared.state).is_open;
        match hold {
            Hold::Retry if is_open => {
                let deadline = Some(Instant::now() + LONGEST_RETRY);
                RefusalCode::ApprovalPending(ticket.leave(Shape::Retry, deadline)).into()
            }
            Hold::Stand if is_open => RefusalCode::ApprovalPending(ticket.leave(Shape::Standing, None)).into(),
            Hold::Wait | Hold::Retry | Hold::Stand | Hold::Never => RefusalCode::NoApprover.into(),
        }
    }
}

impl State {
    /// Returns true where a message waits for operators, whoever else can be asked.
    fn can_wait(&self, hold: Hold) -> bool {
        match hold {
            Hold::Wait => self.is_open,
            Hold::Retry => self.is_open && self.attached > 0,
            Hold::Stand | Hold::Never => false,
        }
    }

    fn standing(&self) -> usize {
        self.entries.values().filter(|entry| entry.shape == Shape::Standing).count()
    }

    fn new_id(&self) -> String {
        let mut id = new_id(ID_LETTERS);
        while self.entries.contains_key(&id) {
            id = new_id(ID_LETTERS + 2);
        }
        id
    }
}

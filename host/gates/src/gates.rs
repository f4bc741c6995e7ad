//! The six gates as the rest of the host sees them.

mod environment;
mod listing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use portcullis_model::json::{Object, Value};
use portcullis_model::{CatalogueEntry, Digest, ItemKind, Occasion, Pinned, PolicyName, ServerName, SessionId, Trust};
use tokio::sync::{Semaphore, SemaphorePermit, broadcast, watch};

use crate::grant::InMemory;
use crate::judge::{pass, shown_launch};
use crate::session::{Meters, lock};
use crate::shadow::{Shadows, Tally};
use crate::{
    ActivePolicy, ApprovalLimits, Approver, Call, Cleared, Context, Environment, Grants, Inbox, Journal, Launching,
    ListedItem, Mode, PolicySet, Refusal, ServerMessage, ServerRequest, Session, Sessions,
};

/// So many answers wait to be heard; whoever missed some judges everything again.
const MOST_ANSWERS: usize = 64;

/// A value with more text than this counts as large.
const LARGE: usize = 128 * 1024;

/// So many large values are judged at the same time. Judging takes a few times the memory of the value, and a value of a
/// megabyte keeps a processor busy: more of them at once would take more memory and no less time.
const MOST_LARGE: usize = 4;

/// An item with what was approved of it before.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The item.
    pub item: ListedItem,
    /// What was approved, where anything was.
    pub pinned: Option<Pinned>,
}

/// Why an item is not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithheldReason {
    /// Hidden: a policy denied it or could not judge it.
    Hidden,
    /// Quarantined until approved: a policy asked.
    Quarantined,
}

/// An item that is not published, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it.
    pub name: String,
    /// Hidden or quarantined.
    pub reason: WithheldReason,
    /// Who decided and why.
    pub refusal: Refusal,
}

/// The six gates over the current policy set.
#[derive(Debug)]
pub struct Gates {
    set: ArcSwap<PolicySet>,
    /// Held while a set is published, so that generations are published in their order.
    publishing: Mutex<()>,
    generation: watch::Sender<u64>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) shadows: Shadows,
    sessions: Sessions,
    pub(crate) meters: Meters,
    inbox: Inbox,
    /// Told which server's questions were answered; an empty name for all.
    pub(crate) answered: broadcast::Sender<String>,
    pub(crate) limits: ApprovalLimits,
    pub(crate) grants: Arc<dyn Grants>,
    /// How the servers that may run are reached, as digests. Bounded by the names in the config.
    identities: Mutex<BTreeMap<ServerName, Digest>>,
    /// True where records hold what policies were told.
    pub(crate) keeps_inputs: bool,
    /// Places for large values that are judged at the same time.
    large: Semaphore,
    /// Key of digests over server entries, which hold secrets that could be guessed from a plain digest.
    digest_key: [u8; 32],
}

impl Gates {
    /// Builds gates over a first set.
    pub fn new(set: PolicySet, journal: Arc<dyn Journal>) -> Self {
        let (generation, _) = watch::channel(set.generation);
        Self {
            set: ArcSwap::from_pointee(set),
            publishing: Mutex::new(()),
            generation,
            shadows: Shadows::new(Arc::clone(&journal)),
            journal,
            sessions: Sessions::default(),
            meters: Meters::default(),
            inbox: Inbox::default(),
            answered: broadcast::Sender::new(MOST_ANSWERS),
            limits: ApprovalLimits::default(),
            grants: Arc::new(InMemory::default()),
            identities: Mutex::default(),
            keeps_inputs: false,
            large: Semaphore::new(MOST_LARGE),
            digest_key: random_key(),
        }
    }

    /// Returns the gates with a key for digests over server entries that outlives this process, so that records of one
    /// entry agree between runs. Without it the key is random.
    #[must_use]
    pub fn with_digest_key(mut self, key: [u8; 32]) -> Self {
        self.digest_key = key;
        self
    }

    /// Returns the gates with records that hold what policies were told or not, so that it can be judged again. It costs a
    /// copy of each value; server entries are never kept.
    #[must_use]
    pub fn with_inputs_kept(mut self, kept: bool) -> Self {
        self.keeps_inputs = kept;
        self
    }

    /// Returns the gates with a store for grants. Without it grants end with the process.
    #[must_use]
    pub fn with_grants(mut self, grants: Arc<dyn Grants>) -> Self {
        self.grants = grants;
        self
    }

    /// Returns the gates with other limits for questions and grants.
    #[must_use]
    pub fn with_approval_limits(mut self, limits: ApprovalLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns what came of comparing policies in shadow to what counts, by name and digest.
    pub fn tallies(&self) -> Vec<(PolicyName, Digest, Tally)> {
        self.shadows.tallies()
    }

    /// Returns the current set.
    pub fn set(&self) -> Arc<PolicySet> {
        self.set.load_full()
    }

    /// Publishes a set: messages that start from now on are judged by it. Returns its generation.
    pub fn publish(&self, mut set: PolicySet) -> u64 {
        let _order = lock(&self.publishing);
        let generation = self.set.load().generation.saturating_add(1);
        set.generation = generation;
        self.shadows.retain(|name, digest| {
            let is_it = |policy: &Arc<ActivePolicy>| policy.description.name == *name && policy.digest == digest;
            set.policies().iter().any(|policy| policy.mode == Mode::Shadow && is_it(policy))
        });
        self.set.store(Arc::new(set));
        self.generation.send_replace(generation);
        generation
    }

    /// Returns a receiver that sees each published generation.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Returns the live sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the questions that wait for an answer.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Returns a receiver of the names of servers whose standing questions were answered, so that they are judged again.
    /// An empty name, and a receiver that missed some, mean all of them.
    pub fn answers(&self) -> broadcast::Receiver<String> {
        self.answered.subscribe()
    }

    /// Returns how many questions of a principal wait for an approver.
    pub fn waiting_questions(&self, principal: &portcullis_model::Principal) -> usize {
        self.inbox.waiting(principal)
    }

    /// Returns the context of a message that starts now: it is judged by the current set to its end.
    pub fn context(&self, session: Arc<Session>, approver: Arc<dyn Approver>, server_trust: Option<Trust>) -> Context {
        Context { session, set: self.set(), approver, server_trust, tool_rounds: 0, definitions: None }
    }

    /// Screens a server entry.
    pub async fn config(&self, context: &Context, launching: Launching) -> Result<Cleared<Launching>, Refusal> {
        let cleared = pass(self, context, launching).await.map(|(cleared, _)| cleared)?;
        let Launching { entry, occasion } = cleared.get();
        match occasion {
            Occasion::Start | Occasion::Connect | Occasion::Rejudge => {
                lock(&self.identities).insert(entry.name.clone(), self.entry_identity(entry));
            }
            Occasion::Save | Occasion::Import | Occasion::Install | Occasion::Probe => {}
        }
        Ok(cleared)
    }

    /// Selects the environment of a stdio server. The entry's own variables are laid over what is left by whoever starts it.
    pub async fn environment(
        &self,
        context: &Context,
        environment: Environment,
    ) -> Result<Cleared<Environment>, Refusal> {
        environment::select(self, context, environment).await
    }

    /// Scans what a server lists, in batches. Items come back in order, each cleared or withheld.
    pub async fn listing(
        &self,
        context: &Context,
        items: Vec<Listed>,
        catalogue: Arc<Vec<CatalogueEntry>>,
    ) -> Vec<Result<Cleared<ListedItem>, Withheld>> {
        listing::scan(self, context, items, catalogue).await
    }

    /// Authorizes a call.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Cleared<Call>, Refusal> {
        pass(self, context, call).await.map(|(cleared, _)| cleared)
    }

    /// Sanitizes something on its way to the model.
    pub async fn result(&self, context: &Context, message: ServerMessage) -> Result<Cleared<ServerMessage>, Refusal> {
        pass(self, context, message).await.map(|(cleared, _)| cleared)
    }

    /// Authorizes a request of a server. The object holds the joined extensions: limits that the host lowers to.
    pub async fn request(
        &self,
        context: &Context,
        request: ServerRequest,
    ) -> Result<(Cleared<ServerRequest>, Object), Refusal> {
        pass(self, context, request).await
    }

    /// Returns which server an entry is: how it is reached, by a digest that takes the names of its variables and headers,
    /// not their values. A new token makes no other server; another command does.
    pub(crate) fn entry_identity(&self, entry: &portcullis_model::ServerEntry) -> Digest {
        self.keyed_digest(&shown_launch(&entry.launch))
    }

    /// Returns which server goes by a name. One whose entry never passed the config gate is known by its name alone.
    pub(crate) fn identity(&self, server: &ServerName) -> Digest {
        lock(&self.identities).get(server).copied().unwrap_or_else(|| Digest::of(server.as_str().as_bytes()))
    }

    /// Ends a session: what was remembered of it is gone, what was approved for it as well. Returns true where it lived.
    pub fn close_session(&self, id: &SessionId) -> bool {
        let Some(instance) = self.sessions.instance(id) else {
            return false;
        };
        let closed = self.sessions.close(id);
        let grants = Arc::clone(&self.grants);
        // Nothing waits for it: the name of the session never comes back, so its grants answer nothing any more.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = grants.end_session(&instance) {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "approvals of an ended session were not removed"
                );
            }
        });
        closed
    }

    /// Waits until a value may be judged, where it is large. Held while policies judge, never while a person is asked.
    pub(crate) async fn place_for(&self, document: &Value) -> Option<SemaphorePermit<'_>> {
        if document.text_bytes(LARGE) < LARGE {
            return None;
        }
        // It is never closed.
        self.large.acquire().await.ok()
    }

    /// Returns a digest that says nothing about the secrets in the value to whoever lacks the key.
    pub(crate) fn keyed_digest(&self, value: &Value) -> Digest {
        let canonical = value.to_canonical();
        Digest::of_parts([&self.digest_key[..], canonical.as_bytes()])
    }
}

/// Returns a random key. Where the system has no randomness, one that at least differs between processes: it protects a
/// digest in the journal, and no decision rests on it.
fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    if getrandom::fill(&mut key).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        key = *Digest::of_parts([&now.as_nanos().to_be_bytes()[..], &std::process::id().to_be_bytes()]).as_bytes();
    }
    key
}

#[cfg(test)]
mod tests;

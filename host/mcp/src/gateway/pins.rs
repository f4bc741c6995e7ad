//! Which definitions were approved, and what a server lists that is not among them.
//!
//! What is published for the first time is pinned: trust on first use, which the journal has as the passage that cleared
//! it. What differs from its pin goes to the listing gate with the differences; once cleared there, it takes the place of
//! the old pin, but only where the policy that judges differences was among those that cleared it. Else the old pin
//! stays, and calls are told that the definition drifted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use portcullis_gates::{Cleared, ListedItem, Mode, PolicySet, Withheld, field_digests};
use portcullis_model::json::Value;
use portcullis_model::{CallKind, Digest, GateName, ItemKind, PinState, Pinned, ServerName};
use portcullis_store::{Pin, PinKey, Pins, StoreError};

/// The policy of the bundle that judges what kind of change a drift is.
const JUDGE_OF_DRIFT: &str = "pins";

type Key = (ItemKind, String);

/// The pins of all servers, as the gateway uses them.
#[derive(Default)]
pub(crate) struct PinBook {
    /// Nothing where nobody keeps pins: then nothing is pinned, and nothing drifts.
    store: Option<Arc<dyn Pins>>,
    /// State of what is published, by server.
    states: Mutex<HashMap<ServerName, BTreeMap<Key, PinState>>>,
}

impl PinBook {
    pub(crate) fn new(store: Option<Arc<dyn Pins>>) -> Self {
        Self { store, ..Self::default() }
    }

    /// Returns what was approved of each item, in their order. An item without a pin of its own that is, its name aside, one
    /// that is listed no more is that one with another name.
    pub(crate) async fn of(&self, server: &ServerName, items: &[ListedItem]) -> Vec<Option<Pinned>> {
        let mut known: HashMap<Key, Pinned> = self.read(server).await;
        let own: Vec<Option<Pinned>> = items.iter().map(|item| known.remove(&(item.kind, item.name.clone()))).collect();
        // What is left is listed no more.
        let mut gone: HashMap<(ItemKind, Digest), Pinned> = known
            .into_iter()
            .map(|((kind, _), pinned)| ((kind, digest_without_name(&pinned.document)), pinned))
            .collect();
        let mut renamed = |item: &ListedItem| {
            if gone.is_empty() { None } else { gone.remove(&(item.kind, digest_without_name(&item.document))) }
        };
        items.iter().zip(own).map(|(item, own)| own.or_else(|| renamed(item))).collect()
    }

    async fn read(&self, server: &ServerName) -> HashMap<Key, Pinned> {
        let Some(store) = self.store.clone() else {
            return HashMap::new();
        };
        let name = server.as_str().to_owned();
        let pins = off_thread(move || store.pins(&name)).await;
        match pins {
            Ok(pins) => pins.into_iter().map(|pin| ((pin.key.kind, pin.key.name), pin.pinned)).collect(),
            Err(error) => {
                // Without its pins everything counts as new; it is judged by what it says all the same.
                tracing::error!(%server, error = &error as &dyn std::error::Error, "the pins of a server could not be read");
                HashMap::new()
            }
        }
    }

    /// Pins what was cleared, and notes the state of what is published.
    pub(crate) async fn accept(
        &self,
        server: &ServerName,
        set: &PolicySet,
        listed: &[portcullis_gates::Listed],
        outcomes: &[Result<Cleared<ListedItem>, Withheld>],
    ) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let judged = set
            .chain(GateName::Listing)
            .any(|policy| policy.description.name.as_str() == JUDGE_OF_DRIFT && policy.mode == Mode::Enforce);
        let mut states = BTreeMap::new();
        let mut fresh = Vec::new();
        for (listed, _) in listed.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok()) {
            let item = &listed.item;
            let digest = item.document.digest();
            let state = match &listed.pinned {
                Some(pinned) if pinned.digest == digest => PinState::Approved,
                Some(_) if !judged => PinState::Drifted,
                Some(_) | None => {
                    fresh.push(pin(server, item, digest));
                    PinState::Approved
                }
            };
            states.insert((item.kind, item.name.clone()), state);
        }
        if !fresh.is_empty() {
            let unpinned: BTreeSet<Key> = fresh.iter().map(|pin| (pin.key.kind, pin.key.name.clone())).collect();
            tracing::info!(%server, pinned = fresh.len(), "definitions were pinned as they are now");
            if let Err(error) = off_thread(move || store.set_pins(&fresh)).await {
                tracing::error!(%server, error = &error as &dyn std::error::Error, "the pins of a server could not be kept");
                for (key, state) in &mut states {
                    if unpinned.contains(key) {
                        *state = PinState::Unpinned;
                    }
                }
            }
        }
        self.states.lock().unwrap_or_else(PoisonError::into_inner).insert(server.clone(), states);
    }

    /// Returns the state of what a call refers to.
    pub(crate) fn state(&self, server: &ServerName, kind: CallKind, name: &str) -> PinState {
        let kind = match kind {
            CallKind::Tool => ItemKind::Tool,
            CallKind::Prompt | CallKind::Completion => ItemKind::Prompt,
            CallKind::Resource => ItemKind::Resource,
        };
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let known = states.get(server).and_then(|states| states.get(&(kind, name.to_owned())));
        known.copied().unwrap_or(PinState::Unpinned)
    }
}

fn pin(server: &ServerName, item: &ListedItem, digest: Digest) -> Pin {
    Pin {
        key: PinKey { server: server.as_str().to_owned(), kind: item.kind, name: item.name.clone() },
        pinned: Pinned { digest, fields: field_digests(&item.document), document: item.document.clone() },
        approved_at: SystemTime::now(),
    }
}

/// Returns the digest of a definition without the name that it goes by.
fn digest_without_name(document: &Value) -> Digest {
    let mut document = document.clone();
    if let Some(members) = document.as_object_mut() {
        members.remove("name");
    }
    document.digest()
}

/// Runs what waits for the disk where it holds up nobody.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, PinError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| PinError::Broke)?.map_err(PinError::Store)
}

/// Pins could not be read or kept.
#[derive(Debug, thiserror::Error)]
enum PinError {
    #[error("the database of pins failed")]
    Store(#[source] StoreError),
    #[error("the work on pins broke")]
    Broke,
}

#[cfg(test)]
mod tests;

//! Fetches new policies and packs from a registry while the gateway runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portcullis_config::{UpdateMode, UpdateSection};
use portcullis_gates::Gates;
use portcullis_model::json::Value;
use portcullis_model::{Digest, PolicyName, object};
use portcullis_runtime::{OfferError, PolicyStore, TriedPolicy};
use portcullis_store::{Home, SqliteStore};
use tokio::sync::watch;

use crate::failure::{chain, one_line};
use crate::policies::remember_versions;

mod fetch;

use fetch::{FetchError, Fetched};

/// What operators find alarms of updates under.
const WHAT: &str = "policies.update";

/// So many times in a row a registry may fail before operators are alarmed: networks come and go.
const PATIENCE: u32 = 3;

/// What became of the last look at the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It stands for what is there already.
    NothingNew,
    /// What it stands for was taken, so long after the look began.
    Taken(Duration),
    /// What it stands for is tried in shadow, so long after the look began.
    Tried(Duration),
    /// What it stands for is refused, with the reason.
    Refused(String),
    /// It could not be had, with the reason.
    Failed(String),
}

/// What is known of the updates of a gateway.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpdateState(Arc<Mutex<Option<Look>>>);

#[derive(Clone, Debug)]
struct Look {
    from: String,
    at: SystemTime,
    digest: Option<String>,
    outcome: Outcome,
}

impl UpdateState {
    fn lock(&self) -> MutexGuard<'_, Option<Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns it for scripts; null where nothing is fetched or nothing was looked at yet.
    pub(crate) fn to_value(&self) -> Value {
        let Some(look) = self.lock().clone() else { return Value::Null };
        let mut object = object! {
            "from" => look.from.as_str(),
            "at" => look.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            "digest" => look.digest.as_deref().map_or(Value::Null, Value::from),
        };
        let (outcome, reason) = match &look.outcome {
            Outcome::NothingNew => ("nothing-new", None),
            Outcome::Taken(took) => {
                object.insert("took_us", u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
                ("taken", None)
            }
            Outcome::Tried(took) => {
                object.insert("took_us", u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
                ("in-shadow", None)
            }
            Outcome::Refused(reason) => ("refused", Some(reason)),
            Outcome::Failed(reason) => ("failed", Some(reason)),
        };
        object.insert("outcome", outcome);
        if let Some(reason) = reason {
            object.insert("reason", reason.as_str());
        }
        object.into()
    }
}

/// What fetches updates, and what they reach.
pub(crate) struct Updates {
    pub(crate) home: Home,
    /// The program that fetches, in a process of its own.
    pub(crate) program: PathBuf,
    /// The config, with the keys that are trusted.
    pub(crate) config: PathBuf,
    /// The policies folder, into which updates go.
    pub(crate) folder: PathBuf,
    pub(crate) policies: Arc<PolicyStore>,
    pub(crate) gates: Arc<Gates>,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) state: UpdateState,
}

impl Updates {
    /// Looks at the registry once the policies are there and then as often as the config says, until the task is ended.
    pub(crate) async fn follow(
        self,
        mut ready: watch::Receiver<bool>,
        mut wanted: watch::Receiver<Option<UpdateSection>>,
    ) {
        // What is there must be known before something newer can be compared to it.
        if ready.wait_for(|ready| *ready).await.is_err() {
            return;
        }
        let mut known: Option<String> = None;
        let mut failures = 0;
        loop {
            let Some(section) = wanted.borrow_and_update().clone() else {
                self.policies.raise(WHAT, None);
                *self.state.lock() = None;
                if wanted.changed().await.is_err() {
                    return;
                }
                known = None;
                continue;
            };
            let outcome = self.look(&section, &mut known).await;
            failures = if matches!(outcome, Outcome::Failed(_)) { failures + 1 } else { 0 };
            self.tell(&section, known.as_deref(), outcome, failures);
            self.promote_by_rule(&section).await;
            tokio::select! {
                () = tokio::time::sleep(section.every) => {}
                changed = wanted.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    // Another place, or other keys.
                    known = None;
                }
            }
        }
    }

    /// Looks once. `known` is the digest that was taken last.
    async fn look(&self, section: &UpdateSection, known: &mut Option<String>) -> Outcome {
        let began = Instant::now();
        let (fetched, into) = match fetch::fetch(self, section, known.as_deref()).await {
            Ok(fetched) => fetched,
            Err(FetchError::Refused(reason)) => return Outcome::Refused(reason),
            Err(error) => return Outcome::Failed(chain(&error)),
        };
        let Fetched { digest, is_same } = fetched;
        if is_same {
            return Outcome::NothingNew;
        }
        let (policies, gates, store) = (Arc::clone(&self.policies), Arc::clone(&self.gates), Arc::clone(&self.store));
        let mode = section.mode;
        // Policies may have to be compiled.
        let offered = tokio::task::spawn_blocking(move || {
            let offered = match mode {
                UpdateMode::Apply => policies.offer(&gates, into.path()),
                UpdateMode::Shadow => policies.offer_for_trial(&gates, into.path()),
            };
            // Before anybody hears of it: what judged once is not undone by a kill.
            remember_versions(&policies, &store);
            offered
        });
        match offered.await {
            Ok(Ok(_)) => {
                *known = Some(digest);
                match mode {
                    UpdateMode::Apply => Outcome::Taken(began.elapsed()),
                    UpdateMode::Shadow => Outcome::Tried(began.elapsed()),
                }
            }
            Ok(Err(error @ (OfferError::NoFolder | OfferError::Read(_) | OfferError::Move(_)))) => {
                Outcome::Failed(chain(&error))
            }
            Ok(Err(error)) => Outcome::Refused(chain(&error)),
            Err(_) => Outcome::Failed("taking it broke".to_owned()),
        }
    }

    /// Promotes what is tried in shadow, once all of it has said the same as what counts for as long as the config asks.
    async fn promote_by_rule(&self, section: &UpdateSection) {
        let (UpdateMode::Shadow, Some(after)) = (section.mode, section.after) else { return };
        let tried = self.policies.tried();
        let tallies = self.gates.tallies();
        let is_proven = |tried: &TriedPolicy| {
            let is_it = |name: &PolicyName, digest: Digest| *name == tried.name && digest == tried.digest;
            tallies.iter().any(|(name, digest, tally)| is_it(name, *digest) && tally.alike >= after)
        };
        let Some(first) = tried.first().filter(|_| tried.iter().all(is_proven)).map(|tried| tried.name.clone()) else {
            return;
        };
        let (policies, gates, store) = (Arc::clone(&self.policies), Arc::clone(&self.gates), Arc::clone(&self.store));
        let promoted = tokio::task::spawn_blocking(move || {
            let promoted = policies.promote(&gates, &first);
            remember_versions(&policies, &store);
            promoted
        });
        match promoted.await {
            Ok(Ok(moved)) => {
                tracing::info!(policy = %moved.policy, from = moved.from, to = moved.to, after, "promoted by rule");
            }
            Ok(Err(error)) => tracing::warn!(error = &error as &dyn std::error::Error, "nothing was promoted"),
            Err(_) => tracing::error!("promoting broke"),
        }
    }

    /// Writes what came of a look into log and status, and alarms operators where they should know.
    fn tell(&self, section: &UpdateSection, digest: Option<&str>, outcome: Outcome, failures: u32) {
        let from = one_line(&section.from);
        let alarm = match &outcome {
            Outcome::NothingNew => None,
            Outcome::Taken(took) => {
                tracing::info!(from, digest, took_ms = took.as_millis(), "policies were updated");
                None
            }
            Outcome::Tried(took) => {
                tracing::info!(from, digest, took_ms = took.as_millis(), "an update is tried in shadow");
                None
            }
            Outcome::Refused(reason) => Some(format!("what {from} stands for is refused: {}", one_line(reason))),
            Outcome::Failed(reason) => {
                tracing::warn!(from, reason = one_line(reason), failures, "no update could be fetched");
                (failures >= PATIENCE).then(|| format!("{from} could not be had {PATIENCE} times and more"))
            }
        };
        self.policies.raise(WHAT, alarm);
        let look =
            Look { from: section.from.clone(), at: SystemTime::now(), digest: digest.map(str::to_owned), outcome };
        *self.state.lock() = Some(look);
    }
}

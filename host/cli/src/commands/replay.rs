//! `portcullis replay` and `portcullis explain`: recorded passages, judged again.

mod again;
mod explain;
mod ruling;

use std::io::{self, IsTerminal as _, Write};
use std::sync::{Arc, mpsc};
use std::thread;

use portcullis_config::Config;
use portcullis_gates::{ActivePolicy, PolicySet};
use portcullis_model::json::Value;
use portcullis_model::{CapabilityGrants, object};
use portcullis_runtime::Loader;
use portcullis_store::{JournalReader as _, PayloadKey, Query, SqliteStore};

use crate::arguments::journal::Replay;
use crate::arguments::{ConfigFile, Format};
use crate::failure::OrExit as _;
use crate::gateway::runtime;
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, policies, probe};
use again::{Difference, Judges, Outcome, Sealed};
pub(crate) use explain::explain;

/// Passages that are read at once; they are judged in parts, one a core.
const BATCH: usize = 1_024;

/// Differences that are told; of more, only the number is.
const MOST_TOLD: usize = 1_000;

/// What judging again needs.
struct Recorded {
    store: Arc<SqliteStore>,
    key: PayloadKey,
    set: PolicySet,
    /// Keeps what was compiled.
    loader: Loader,
}

impl Recorded {
    fn open(settings: &Settings, file: &ConfigFile, format: Format) -> Result<Self, Failure> {
        let config = match settings.read_config(file) {
            Ok((_, config)) => config,
            Err(_) if file.config.is_none() => Config::default(),
            Err(failure) => return Err(failure),
        };
        let home = settings.open_home()?;
        let store = settings.open_store(file)?;
        let key = PayloadKey::of(&home).or_exit(Exit::State, "reading the key of payloads")?;
        report::progress(report::LOADING, format);
        let policies = policies::store(&home, &config, &store)?;
        let set = policies.load();
        Ok(Self { store, key, set, loader: policies.loader().clone() })
    }

    /// Loads the policy that takes the place of another. It has that one's rights, or all that it wants.
    fn replacement(&self, arguments: &Replay, policy: &str) -> Result<ActivePolicy, Failure> {
        let mut module = super::policy::module(policy)?;
        if let Some(path) = &arguments.settings {
            module.settings = super::policy::read_settings(path)?;
        }
        let budget = portcullis_runtime::Budget::DEFAULT;
        let loaded = self
            .loader
            .load_granted(&module.wasm, &module.settings, &module.packs, &budget, &CapabilityGrants::in_name_only())
            .or_exit(Exit::Policies, "loading the policy")?;
        let mut active = probe::active(&loaded);
        if !active.evaluator.is_pure() {
            let message = format!(
                "`{}` asks the network, and what that said then cannot be asked again",
                active.description.name
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        if let Some(known) = self.set.policies().iter().find(|known| known.description.name == active.description.name)
        {
            (active.rights, active.on_fault) = (known.rights, known.on_fault);
        }
        Ok(active)
    }
}

/// Judges recorded passages again.
pub(crate) fn replay(settings: &Settings, arguments: &Replay) -> Result<Exit, Failure> {
    let recorded = Recorded::open(settings, &arguments.config, arguments.format)?;
    let judges = match &arguments.policy {
        Some(policy) => Judges::One(Arc::new(recorded.replacement(arguments, policy)?)),
        None => Judges::All(Box::new(recorded.set)),
    };
    let judges = Arc::new(judges);
    let (store, key) = (recorded.store, Arc::new(recorded.key));
    let newest = store.latest(&arguments.passages.query(1)).or_exit(Exit::State, "reading the journal")?;
    let newest = newest.first().map_or(0, |entry| entry.id);
    let mut progress = Progress { newest, oldest: None, shown: !arguments.format.json && io::stderr().is_terminal() };
    let mut replayed = Replayed::default();
    let runtime = runtime()?;
    let query = arguments.passages.query(BATCH);
    // The next batch is read while one is judged.
    let (sender, batches) = mpsc::sync_channel(1);
    let reader = thread::spawn(move || read_batches(&store, &query, newest, &sender));
    for batch in batches {
        let batch: Sealed = batch?;
        let after = batch.last().map(|(entry, _)| entry.id);
        for outcome in runtime.block_on(again::judge(&key, &judges, batch))? {
            replayed.take(outcome);
        }
        progress.show(after);
    }
    // A journal that was read in part would look the same in the rest.
    reader.join().map_err(|_panicked| Failure::new(Exit::Internal, "reading the journal broke off"))?;
    progress.end();
    let same = replayed.otherwise == 0;
    report::print(&replayed, arguments.format)?;
    Ok(if same { Exit::Success } else { Exit::Failed })
}

/// Reads passages up to the newest, batch by batch, until nobody wants more.
fn read_batches(store: &SqliteStore, query: &Query, newest: i64, sender: &mpsc::SyncSender<Result<Sealed, Failure>>) {
    let mut after = None;
    loop {
        let query = Query { after, before: newest.checked_add(1), ..query.clone() };
        let entries = store.earliest(&query).or_exit(Exit::State, "reading the journal");
        let batch = entries.and_then(|entries| again::sealed(store, entries));
        let read = batch.as_ref().map_or(0, Vec::len);
        after = batch.as_ref().ok().and_then(|batch| batch.last()).map(|(entry, _)| entry.id).or(after);
        if sender.send(batch).is_err() || read < BATCH {
            return;
        }
    }
}

/// A bar on a terminal: how far along the numbers of the passages are.
struct Progress {
    newest: i64,
    oldest: Option<i64>,
    shown: bool,
}

impl Progress {
    fn show(&mut self, at: Option<i64>) {
        const WIDTH: i64 = 30;
        let (true, Some(at)) = (self.shown, at) else {
            return;
        };
        let oldest = *self.oldest.get_or_insert(at.saturating_sub(i64::try_from(BATCH).unwrap_or(0)).max(0));
        let all = self.newest.saturating_sub(oldest).max(1);
        let done = at.saturating_sub(oldest).clamp(0, all);
        let bar = usize::try_from(done * WIDTH / all).unwrap_or(0);
        let _unwritable = write!(io::stderr(), "\r[{:<30}] {:>3} %", "=".repeat(bar), done * 100 / all);
    }

    fn end(&self) {
        if self.shown && self.oldest.is_some() {
            let _unwritable = write!(io::stderr(), "\r{:40}\r", "");
        }
    }
}

/// What came of judging passages again.
#[derive(Debug, Default)]
struct Replayed {
    judged: usize,
    /// Passages that would be decided otherwise.
    otherwise: usize,
    /// Passages that would be decided the same, with other findings.
    noticed_otherwise: usize,
    told: Vec<Difference>,
    /// Passages whose payload was not kept, or not any more.
    without_payload: usize,
    /// Passages of gates whose payloads are never kept.
    never_kept: usize,
    /// Passages whose payload cannot be read.
    unreadable: usize,
    /// Passages that no policy judged, or none that is replayed.
    unjudged: usize,
}

impl Replayed {
    fn take(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Same => self.judged += 1,
            Outcome::Otherwise(difference) => {
                self.judged += 1;
                *(if difference.is_decision() { &mut self.otherwise } else { &mut self.noticed_otherwise }) += 1;
                if self.told.len() < MOST_TOLD {
                    self.told.push(*difference);
                }
            }
            Outcome::WithoutPayload => self.without_payload += 1,
            Outcome::NeverKept => self.never_kept += 1,
            Outcome::Unreadable => self.unreadable += 1,
            Outcome::Unjudged => self.unjudged += 1,
        }
    }
}

impl Report for Replayed {
    fn to_value(&self) -> Value {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        object! {
            "judged" => number(self.judged),
            "decided_otherwise" => number(self.otherwise),
            "noticed_otherwise" => number(self.noticed_otherwise),
            "skipped" => object! {
                "without_payload" => number(self.without_payload),
                "never_kept" => number(self.never_kept),
                "unreadable" => number(self.unreadable),
                "unjudged" => number(self.unjudged),
            },
            "differences" => self.told.iter().map(Difference::to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for difference in &self.told {
            writeln!(out, "{}", difference.line())?;
        }
        let untold = (self.otherwise + self.noticed_otherwise).saturating_sub(self.told.len());
        if untold > 0 {
            writeln!(out, "… and {untold} more")?;
        }
        writeln!(
            out,
            "{} judged again: {} would be decided otherwise, {} decided the same with other findings",
            count(self.judged, "passage"),
            self.otherwise,
            self.noticed_otherwise
        )?;
        let skipped = [
            (self.without_payload, "has no payload (see `journal.payloads` and `payload_days`)"),
            (self.never_kept, "is about a server entry, which is never kept"),
            (self.unreadable, "has a payload that cannot be read"),
            (self.unjudged, "was judged by none of these policies"),
        ];
        skipped
            .iter()
            .filter(|(number, _)| *number > 0)
            .try_for_each(|(number, why)| writeln!(out, "skipped {number}: each {why}"))
    }
}

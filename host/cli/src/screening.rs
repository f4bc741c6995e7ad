//! The config gate for commands: what the policies say of server entries that nobody starts yet.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_config::Config;
use portcullis_gates::{Approver, Environment, Gates, Launching, Refusal, RefusalCode, Session};
use portcullis_model::json::Value;
use portcullis_model::{ClientFacts, Era, Occasion, Principal, Secret, ServerEntry, SessionId, object};
use portcullis_runtime::PolicyStore;
use portcullis_store::{Home, JournalEntry, JournalReader as _, Query, SqliteStore};

use crate::arguments::Format;
use crate::failure::OrExit as _;
use crate::{Exit, Failure, gateway, passages, policies, report, terminal};

/// The name of the session of commands in the journal.
const SESSION: &str = "command";

/// The config gate with all policies of a config, and an operator where one is at the terminal.
pub(crate) struct Screening {
    gates: Gates,
    session: Arc<Session>,
    approver: Arc<dyn Approver>,
    store: Arc<SqliteStore>,
    /// Kept as long as its policies judge.
    _policies: PolicyStore,
    runtime: tokio::runtime::Runtime,
}

/// What the gate said of one entry.
#[derive(Clone, Debug)]
pub(crate) struct Screened {
    /// The refusal, where it may not be used.
    pub(crate) refusal: Option<Refusal>,
    /// What was recorded.
    pub(crate) passages: Vec<JournalEntry>,
}

impl Screening {
    /// Loads the policies of a config.
    pub(crate) fn open(home: &Home, config: &Config, format: Format) -> Result<Self, Failure> {
        report::progress(report::LOADING, format);
        let runtime = gateway::runtime()?;
        let store = gateway::open_store(home, &config.journal)?;
        let key = home.key("digest.key").or_exit(Exit::State, "reading the key of digests")?;
        let gates = Gates::new(policies::shut(config), Arc::clone(&store) as _)
            .with_digest_key(key)
            .with_grants(Arc::clone(&store) as _)
            .with_approval_limits(gateway::limits(&config.approvals));
        let policies = policies::store(home, config, &store)?;
        policies.refresh(&gates);
        policies::remember_versions(&policies, &store);
        let approver = terminal::approver(home, &config.approvals)?;
        let session = Session::new(
            SessionId::parse(SESSION).or_exit(Exit::Internal, "naming the session")?,
            Principal::parse("operator").or_exit(Exit::Internal, "naming the principal")?,
            ClientFacts::default(),
            Era::Initialize,
        );
        let session = Arc::new(session);
        Ok(Self { gates, session, approver, store, _policies: policies, runtime })
    }

    /// Judges an entry. Nothing of it runs.
    pub(crate) fn screen(&self, entry: Arc<ServerEntry>, occasion: Occasion) -> Result<Screened, Failure> {
        let last = self.newest()?;
        let server = entry.name.to_string();
        let context = self.gates.context(Arc::clone(&self.session), Arc::clone(&self.approver), None);
        let outcome = self.runtime.block_on(self.gates.config(&context, Launching { entry, occasion }));
        Ok(Screened { refusal: outcome.err(), passages: self.passages(last, server)? })
    }

    fn newest(&self) -> Result<i64, Failure> {
        let newest = self.store.latest(&Query { limit: 1, ..Query::default() });
        Ok(newest.or_exit(Exit::State, "reading the journal")?.first().map_or(0, |entry| entry.id))
    }

    fn passages(&self, after: i64, server: String) -> Result<Vec<JournalEntry>, Failure> {
        let session = Some(SESSION.to_owned());
        let query = Query { after: Some(after), session, server: Some(server), limit: Query::MOST, ..Query::default() };
        let mut passages = self.store.latest(&query).or_exit(Exit::State, "reading the journal")?;
        passages.reverse();
        Ok(passages)
    }
}

/// The names that are left, with what was recorded, or why nothing is.
type Selected = Result<(BTreeSet<String>, Vec<JournalEntry>), Refusal>;

impl Screening {
    /// Returns which variables the environment gate lets a server have of those that are offered. Only names are judged.
    pub(crate) fn select(&self, entry: Arc<ServerEntry>, offered: &BTreeSet<String>) -> Result<Selected, Failure> {
        let last = self.newest()?;
        let server = entry.name.to_string();
        let variables = offered.iter().map(|name| (name.clone(), Secret::new(""))).collect();
        let environment = Environment { entry, variables, tagged: Vec::new() };
        let context = self.gates.context(Arc::clone(&self.session), Arc::clone(&self.approver), None);
        let cleared = match self.runtime.block_on(self.gates.environment(&context, environment)) {
            Ok(cleared) => cleared,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let kept = cleared.get().variables.iter().map(|(name, _)| name.clone()).collect();
        Ok(Ok((kept, self.passages(last, server)?)))
    }
}

impl Screened {
    /// Returns what came of it, in a word.
    pub(crate) fn outcome(&self) -> &'static str {
        match self.refusal.as_ref().map(|refusal| &refusal.code) {
            None => "allowed",
            Some(code) if is_question(code) => "asks",
            Some(_) => "refused",
        }
    }

    /// Returns the step that could help, where it was refused.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        let code = &self.refusal.as_ref()?.code;
        Some(if is_question(code) {
            "a policy asks an operator: run the command at a terminal, where the question is put to you"
        } else {
            "`portcullis explain` and `policies` in the config tell and settle what policies do"
        })
    }

    /// Returns it for scripts.
    pub(crate) fn to_value(&self) -> Value {
        let mut object = object! { "outcome" => self.outcome() };
        if let Some(refusal) = &self.refusal {
            object.insert("code", refusal.code.as_str());
            object.insert("detail", refusal.detail.as_str());
        }
        object.insert("gates", self.passages.iter().map(passages::to_value).collect::<Vec<_>>());
        object.into()
    }
}

/// Returns true where a policy asked and nobody could answer.
fn is_question(code: &RefusalCode) -> bool {
    matches!(code, RefusalCode::NoApprover | RefusalCode::ApprovalPending(_) | RefusalCode::ApprovalTimedOut)
}

//! What all fleets of a gateway have in common.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use portcullis_config::{Approvals, Config, Naming, Results, Server, StatusTool};
use portcullis_gates::{Context, Gates, NoApprover, Session};
use portcullis_model::{ClientFacts, Era, Principal, SessionId};

use super::pins::PinBook;
use super::tasks::TaskBook;
use super::{GatewayOptions, Launcher};

/// What of the config counts now. Immutable: a change of the config makes another one.
#[derive(Clone, Debug)]
pub(crate) struct Arrangement {
    pub(crate) servers: Vec<Server>,
    pub(crate) approvals: Approvals,
    pub(crate) naming: Naming,
    pub(crate) status: StatusTool,
    pub(crate) results: Results,
}

impl Arrangement {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            servers: config.servers.clone(),
            approvals: config.approvals.clone(),
            naming: config.naming.clone(),
            status: config.status,
            results: config.results,
        }
    }
}

/// What all fleets of a gateway have in common.
pub(crate) struct Shared {
    pub(crate) gates: Arc<Gates>,
    pub(crate) options: GatewayOptions,
    pub(crate) launcher: Arc<dyn Launcher>,
    /// Approved definitions.
    pub(crate) pins: PinBook,
    pub(crate) arrangement: ArcSwap<Arrangement>,
    /// Tasks that clients made.
    pub(crate) tasks: TaskBook,
    /// What of the config is not in use, for the operator.
    pub(crate) config_note: Mutex<Option<String>>,
    /// The session that the gateway's own passages belong to: screening, starting, listing.
    own: Arc<Session>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        config: &Config,
        gates: Arc<Gates>,
        options: GatewayOptions,
        launcher: Arc<dyn Launcher>,
    ) -> Self {
        let arrangement = ArcSwap::from_pointee(Arrangement::of(config));
        let pins = PinBook::new(options.pins.clone());
        let own = Arc::new(own_session());
        let tasks = TaskBook::new(options.schema_folder.clone());
        Self { tasks, gates, options, launcher, pins, arrangement, config_note: Mutex::default(), own }
    }

    /// Returns the context of a passage that no client asked for.
    pub(crate) fn own_context(&self, server: &super::server::Server) -> Context {
        Context {
            session: Arc::clone(&self.own),
            set: self.gates.set(),
            approver: Arc::new(NoApprover),
            server_trust: server.options().trust,
            tool_rounds: 0,
            definitions: None,
        }
    }
}

/// Returns the session of the gateway itself.
fn own_session() -> Session {
    let fixed = "both names are made of letters only";
    Session::new(
        SessionId::parse("gateway").expect(fixed),
        Principal::parse("operator").expect(fixed),
        ClientFacts::default(),
        Era::Initialize,
    )
}

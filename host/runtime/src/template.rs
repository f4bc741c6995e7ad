//! A policy that is compiled and linked: what instances are made from.

use std::sync::Arc;
use std::time::Duration;

use portcullis_bindings::{CallError, ConfigureError, Gate, Interfaces, ProbeError};
use portcullis_gates::Fault;
use portcullis_model::json::Value;
use portcullis_model::{Answer, Description, Facts, Pack, PolicyName, Subject};
use wasmtime::Store;
use wasmtime::UpdateDeadline;
use wasmtime::component::{Component, Instance, InstancePre};

use crate::budget::Budget;
use crate::engine::{Engine, Slot};
use crate::fault;
use crate::inspect::{Inspection, Links};
use crate::state::{Purpose, State};
use crate::wasi::Inert;

/// An evaluation waits so long for a slot of the pool: longer than the guests that hold them may run by default.
const SLOT_WAIT: Duration = Duration::from_secs(1);

/// What a policy is configured with.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) settings: Value,
    pub(crate) packs: Vec<Pack>,
}

/// A policy could not be linked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// An import has another shape than the host offers.
    #[error("the module's imports do not fit this host")]
    Imports(#[source] wasmtime::Error),
    /// It does not export the lifecycle.
    #[error("the module is no policy")]
    Probe(#[source] ProbeError),
    /// A gate that its export list names has another shape than the contract says.
    #[error("the module exports the {0} gate in another shape than the contract says")]
    Gate(portcullis_model::GateName),
}

/// Why a policy could not be brought to life while loading it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It broke.
    #[error("the policy broke while it was {during}")]
    Fault {
        /// What it was doing.
        during: &'static str,
        /// How it broke.
        #[source]
        fault: Fault,
    },
    /// An export has another type than the contract says.
    #[error("an export has another type than the contract says")]
    Types(#[source] wasmtime::Error),
    /// It refused its settings or packs.
    #[error("the policy refused its settings or packs")]
    Configure(#[source] ConfigureError),
}

/// What instances are made from.
pub(crate) struct Template {
    engine: Engine,
    pre: InstancePre<State>,
    interfaces: Arc<Interfaces>,
    links: Links,
    drafting: bool,
}

impl std::fmt::Debug for Template {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Template").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

impl Template {
    /// Links a component that was compiled for the main engine, or for the drafting one.
    pub(crate) fn link(
        engine: &Engine,
        component: &Component,
        inspection: &Inspection,
        drafting: bool,
    ) -> Result<Self, LinkError> {
        let links = inspection.links();
        let linker = engine.linker(drafting, links).map_err(LinkError::Imports)?;
        let pre = linker.instantiate_pre(component).map_err(LinkError::Imports)?;
        let interfaces = Arc::new(Interfaces::probe(&pre).map_err(LinkError::Probe)?);
        // A gate that only looks like one must not count as absent: its author meant it to judge.
        if let Some(gate) = inspection.gates.iter().find(|gate| !interfaces.exports(**gate)) {
            return Err(LinkError::Gate(*gate));
        }
        Ok(Self { engine: engine.clone(), pre, interfaces, links, drafting })
    }

    /// Returns true where it imports a WASI, whose functions must not run on a thread of the async runtime.
    pub(crate) fn has_wasi(&self) -> bool {
        self.links != Links::Plain
    }

    /// Makes an instance. Waits for a slot only where `wait` allows it.
    pub(crate) fn instantiate(&self, budget: &Budget, purpose: Purpose<'_>, wait: bool) -> Result<Live, Fault> {
        let slot = match (self.drafting, wait) {
            (true, _) => None,
            (false, true) => Some(self.engine.slots().take(SLOT_WAIT).ok_or(Fault::QueueFull)?),
            (false, false) => Some(self.engine.slots().try_take().ok_or(Fault::QueueFull)?),
        };
        let memory = budget.memory.min(self.engine.options().memory);
        let inert = self.has_wasi().then(Box::<Inert>::default);
        let engine = if self.drafting { self.engine.drafting() } else { self.engine.main() };
        let mut store = Store::new(engine, State::new(memory, inert, purpose));
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(budget.output);
        store.set_epoch_deadline(1);
        // Whatever runs for longer than the ticker stays awake by itself keeps it awake.
        let engine = (purpose.allowance.wall > Engine::UNATTENDED).then(|| self.engine.clone());
        store.data_mut().engine.clone_from(&engine);
        store.epoch_deadline_callback(move |mut context| {
            context.data_mut().deadline.check().map_err(wasmtime::Error::new)?;
            if let Some(engine) = &engine {
                engine.awake();
            }
            Ok(UpdateDeadline::Continue(1))
        });
        self.engine.awake();
        let instance = self.pre.instantiate(&mut store).map_err(|error| fault::of_instantiation(&error))?;
        Ok(Live { interfaces: Arc::clone(&self.interfaces), gate: None, store, instance, _slot: slot })
    }

    /// Makes an instance and configures it.
    pub(crate) fn configured(
        &self,
        name: Option<&PolicyName>,
        budget: &Budget,
        configuration: &Configuration,
    ) -> Result<Live, StartError> {
        let purpose = Purpose::configure(name, *budget);
        let mut live = self
            .instantiate(budget, purpose, true)
            .map_err(|fault| StartError::Fault { during: "instantiated", fault })?;
        live.configure(configuration)?;
        Ok(live)
    }
}

/// An instance with its store. The slot is given back after the store is gone: fields are dropped in order.
pub(crate) struct Live {
    interfaces: Arc<Interfaces>,
    /// The gate that was called last: a kept instance is mostly called for the same one again.
    gate: Option<Gate>,
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    _slot: Option<Slot>,
}

impl Live {
    /// Checks the types of all exports and asks the policy what it is.
    pub(crate) fn describe(&mut self) -> Result<Description, StartError> {
        self.interfaces.check_types(&mut self.store, &self.instance).map_err(StartError::Types)?;
        self.interfaces
            .describe(&mut self.store, &self.instance)
            .map_err(|error| StartError::Fault { during: "describing itself", fault: fault::of_call(&error) })
    }

    fn configure(&mut self, configuration: &Configuration) -> Result<(), StartError> {
        let Configuration { settings, packs } = configuration;
        self.interfaces
            .configure(&mut self.store, &self.instance, settings, packs)
            .map_err(|error| StartError::Fault { during: "configured", fault: fault::of_call(&error) })?
            .map_err(StartError::Configure)
    }

    /// Judges. The caller has started the call by making the instance, or with [`State::begin`].
    pub(crate) fn evaluate(&mut self, facts: &Facts, subject: &Subject, payload: bool) -> Result<Answer, CallError> {
        let gate = match self.gate.take().filter(|gate| gate.name() == subject.gate()) {
            Some(gate) => gate,
            None => self.interfaces.open(&mut self.store, &self.instance, subject.gate())?,
        };
        let answer = gate.evaluate(&mut self.store, facts, subject, payload);
        self.gate = Some(gate);
        answer
    }
}

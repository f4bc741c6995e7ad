//! The draft of line 0.2: the call gate alone.
//!
//! It has fewer words than the host: what it cannot say is not asked of it, and what it can say is said in the host's.

mod generated;
mod lift;
mod lower;

use std::fmt;

use portcullis_model::json::Value;
use portcullis_model::{Answer, Description, Facts, GateName, Pack, Subject};
use wasmtime::AsContextMut;
use wasmtime::component::{Instance, InstancePre, Linker};

use crate::error::{CallError, ConfigureError, ProbeError};
use crate::line::Line;
use generated::exports::portcullis::policy::{call_gate, lifecycle};
use generated::portcullis::policy::types;

/// What this line has.
pub(crate) const LINE: Line = Line { version: (0, 2, 0), imports: &["types"], exports: &["lifecycle", "call-gate"] };

/// The exports of one component.
#[derive(Clone)]
pub(crate) struct Interfaces {
    lifecycle: lifecycle::GuestIndices,
    call: Option<call_gate::GuestIndices>,
}

impl fmt::Debug for Interfaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Interfaces").field("call", &self.call.is_some()).finish_non_exhaustive()
    }
}

/// The call gate of one instance.
#[derive(Clone)]
pub(crate) struct Gate(call_gate::Guest);

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Gate(call)")
    }
}

impl Interfaces {
    pub(crate) fn probe<T: 'static>(pre: &InstancePre<T>) -> Result<Self, ProbeError> {
        Ok(Self {
            lifecycle: lifecycle::GuestIndices::new(pre).map_err(ProbeError)?,
            call: call_gate::GuestIndices::new(pre).ok(),
        })
    }

    pub(crate) fn exports(&self, gate: GateName) -> bool {
        gate == GateName::Call && self.call.is_some()
    }

    pub(crate) fn check_types(&self, mut store: impl AsContextMut, instance: &Instance) -> wasmtime::Result<()> {
        self.lifecycle.load(&mut store, instance)?;
        self.call.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        Ok(())
    }

    pub(crate) fn describe(&self, mut store: impl AsContextMut, instance: &Instance) -> Result<Description, CallError> {
        let guest = self.lifecycle.load(&mut store, instance)?;
        Ok(lift::description(guest.call_describe(&mut store)?)?)
    }

    pub(crate) fn configure(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        settings: &Value,
        _packs: &[Pack],
    ) -> Result<Result<(), ConfigureError>, CallError> {
        let guest = self.lifecycle.load(&mut store, instance)?;
        let answer = guest.call_configure(&mut store, &settings.to_json())?;
        Ok(answer.map_err(|message| ConfigureError { place: String::new(), message }))
    }

    pub(crate) fn open(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        gate: GateName,
    ) -> Result<Gate, CallError> {
        match &self.call {
            Some(indices) if gate == GateName::Call => Ok(Gate(indices.load(&mut store, instance)?)),
            Some(_) | None => Err(CallError::NotExported(gate)),
        }
    }
}

impl Gate {
    #[expect(clippy::unused_self, reason = "other lines have more than one gate")]
    pub(crate) fn name(&self) -> GateName {
        GateName::Call
    }

    pub(crate) fn evaluate(
        &self,
        mut store: impl AsContextMut,
        facts: &Facts,
        subject: &Subject,
        payload: bool,
    ) -> Result<Answer, CallError> {
        let Subject::Call(call) = subject else { return Err(CallError::NotExported(subject.gate())) };
        let facts = lower::facts(facts);
        let facts: Vec<_> = facts.iter().map(|(name, value)| types::Fact { name, value }).collect();
        let arguments = if payload { call.arguments.to_json() } else { "null".to_owned() };
        let call = call_gate::Call { server: call.server.as_str(), name: &call.name, arguments: &arguments };
        let verdict = self.0.call_authorize(&mut store, &facts, call)?;
        Ok(Answer::Verdict(lift::verdict(verdict)?))
    }
}

/// Links what the line offers to policies: `types`, which has no functions.
pub(crate) fn add_to_linker<T: 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    struct Nothing;
    impl types::Host for Nothing {}
    impl wasmtime::component::HasData for Nothing {
        type Data<'a> = Self;
    }
    types::add_to_linker::<T, Nothing>(linker, |_| Nothing)
}

//! The exports of one component, found by probing.

use std::any::type_name;
use std::fmt;

use portcullis_model::json::Value;
use portcullis_model::{Description, GateName, Pack};
use wasmtime::AsContextMut;
use wasmtime::component::{Instance, InstancePre};

use crate::error::{CallError, ConfigureError, ProbeError};
use crate::v0_1::gate::{Gate, Guest};
use crate::v0_1::generated::exports::portcullis::policy::{
    call_gate, config_gate, environment_gate, lifecycle, listing_gate, request_gate, result_gate,
};
use crate::v0_1::lift;

/// The exports of one component: the lifecycle, and the gates that it has.
#[derive(Clone)]
pub(crate) struct Interfaces {
    lifecycle: lifecycle::GuestIndices,
    config: Option<config_gate::GuestIndices>,
    environment: Option<environment_gate::GuestIndices>,
    listing: Option<listing_gate::GuestIndices>,
    call: Option<call_gate::GuestIndices>,
    result: Option<result_gate::GuestIndices>,
    request: Option<request_gate::GuestIndices>,
}

impl fmt::Debug for Interfaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct(type_name::<Self>())
            .field("gates", &GateName::ALL.map(|gate| self.exports(gate)))
            .finish_non_exhaustive()
    }
}

impl Interfaces {
    /// Looks for the interfaces of the contract among the exports.
    pub(crate) fn probe<T: 'static>(pre: &InstancePre<T>) -> Result<Self, ProbeError> {
        Ok(Self {
            lifecycle: lifecycle::GuestIndices::new(pre).map_err(ProbeError)?,
            config: config_gate::GuestIndices::new(pre).ok(),
            environment: environment_gate::GuestIndices::new(pre).ok(),
            listing: listing_gate::GuestIndices::new(pre).ok(),
            call: call_gate::GuestIndices::new(pre).ok(),
            result: result_gate::GuestIndices::new(pre).ok(),
            request: request_gate::GuestIndices::new(pre).ok(),
        })
    }

    /// Returns true where the component exports the gate.
    pub(crate) fn exports(&self, gate: GateName) -> bool {
        match gate {
            GateName::Config => self.config.is_some(),
            GateName::Environment => self.environment.is_some(),
            GateName::Listing => self.listing.is_some(),
            GateName::Call => self.call.is_some(),
            GateName::Result => self.result.is_some(),
            GateName::Request => self.request.is_some(),
        }
    }

    /// Checks that every export has the types of the contract, once, so that a mistyped gate fails while loading.
    pub(crate) fn check_types(&self, mut store: impl AsContextMut, instance: &Instance) -> wasmtime::Result<()> {
        self.lifecycle.load(&mut store, instance)?;
        self.config.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.environment.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.listing.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.call.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.result.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.request.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        Ok(())
    }

    /// Asks a policy what it is.
    pub(crate) fn describe(&self, mut store: impl AsContextMut, instance: &Instance) -> Result<Description, CallError> {
        let guest = self.lifecycle.load(&mut store, instance)?;
        Ok(lift::description(guest.call_describe(&mut store)?)?)
    }

    /// Hands settings and packs to a policy. The inner error is the policy's own refusal of them.
    pub(crate) fn configure(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        settings: &Value,
        packs: &[Pack],
    ) -> Result<Result<(), ConfigureError>, CallError> {
        let guest = self.lifecycle.load(&mut store, instance)?;
        let settings = settings.to_json();
        let data: Vec<_> = packs.iter().map(|pack| pack.data.to_json()).collect();
        let packs: Vec<_> = packs
            .iter()
            .zip(&data)
            .map(|(pack, data)| lifecycle::Pack { name: &pack.name, version: &pack.version, data })
            .collect();
        let answer = guest.call_configure(&mut store, &settings, &packs)?;
        Ok(answer.map_err(|error| ConfigureError { place: error.place, message: error.message }))
    }

    /// Looks a gate up in an instance. What is returned can be called any number of times on that instance.
    pub(crate) fn open(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        gate: GateName,
    ) -> Result<Gate, CallError> {
        let store = &mut store;
        let guest = match gate {
            GateName::Config => load(self.config.as_ref(), |indices| indices.load(store, instance).map(Guest::Config)),
            GateName::Environment => {
                load(self.environment.as_ref(), |indices| indices.load(store, instance).map(Guest::Environment))
            }
            GateName::Listing => {
                load(self.listing.as_ref(), |indices| indices.load(store, instance).map(Guest::Listing))
            }
            GateName::Call => load(self.call.as_ref(), |indices| indices.load(store, instance).map(Guest::Call)),
            GateName::Result => load(self.result.as_ref(), |indices| indices.load(store, instance).map(Guest::Result)),
            GateName::Request => {
                load(self.request.as_ref(), |indices| indices.load(store, instance).map(Guest::Request))
            }
        };
        Ok(Gate { guest: guest.ok_or(CallError::NotExported(gate))?? })
    }
}

fn load<I>(indices: Option<&I>, load: impl FnOnce(&I) -> wasmtime::Result<Guest>) -> Option<wasmtime::Result<Guest>> {
    indices.map(load)
}

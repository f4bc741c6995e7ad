//! The lines that this host has, and the one that a component is of.

use portcullis_model::json::Value;
use portcullis_model::{Answer, Description, Facts, GateName, Pack, Subject};
use wasmtime::AsContextMut;
use wasmtime::component::{Instance, InstancePre, Linker};

use crate::error::{CallError, ConfigureError, ProbeError};
use crate::v0_1::{self, LogSink};
#[cfg(feature = "draft-0-2")]
use crate::v0_2;

/// One compatibility line of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The newest version that the host has: major, minor, patch. The first two are the line.
    pub version: (u64, u64, u64),
    /// Interfaces of the package that a component may import.
    pub imports: &'static [&'static str],
    /// Interfaces of the package that a component may export.
    pub exports: &'static [&'static str],
}

/// The lines that this host has, the oldest first.
pub const LINES: &[Line] = &[
    v0_1::LINE,
    #[cfg(feature = "draft-0-2")]
    v0_2::LINE,
];

/// The exports of one component: the lifecycle, and the gates that it has.
#[derive(Clone, Debug)]
pub struct Interfaces(Exports);

#[derive(Clone, Debug)]
enum Exports {
    V01(v0_1::Interfaces),
    #[cfg(feature = "draft-0-2")]
    V02(v0_2::Interfaces),
}

/// Does the same with the exports of either line.
macro_rules! each {
    ($exports:expr, $own:ident => $body:expr) => {
        match $exports {
            Exports::V01($own) => $body,
            #[cfg(feature = "draft-0-2")]
            Exports::V02($own) => $body,
        }
    };
}

impl Interfaces {
    /// Looks for the interfaces of the contract among the exports, line by line.
    pub fn probe<T: 'static>(pre: &InstancePre<T>) -> Result<Self, ProbeError> {
        let first = match v0_1::Interfaces::probe(pre) {
            Ok(own) => return Ok(Self(Exports::V01(own))),
            Err(error) => error,
        };
        #[cfg(feature = "draft-0-2")]
        if let Ok(own) = v0_2::Interfaces::probe(pre) {
            return Ok(Self(Exports::V02(own)));
        }
        Err(first)
    }

    /// Returns the gates that the component exports.
    pub fn gates(&self) -> Vec<GateName> {
        GateName::ALL.into_iter().filter(|gate| self.exports(*gate)).collect()
    }

    /// Returns true where the component exports the gate.
    pub fn exports(&self, gate: GateName) -> bool {
        each!(&self.0, own => own.exports(gate))
    }

    /// Checks that every export has the types of the contract, once, so that a mistyped gate fails while loading.
    pub fn check_types(&self, store: impl AsContextMut, instance: &Instance) -> wasmtime::Result<()> {
        each!(&self.0, own => own.check_types(store, instance))
    }

    /// Asks a policy what it is.
    pub fn describe(&self, store: impl AsContextMut, instance: &Instance) -> Result<Description, CallError> {
        each!(&self.0, own => own.describe(store, instance))
    }

    /// Hands settings and packs to a policy. The inner error is the policy's own refusal of them.
    pub fn configure(
        &self,
        store: impl AsContextMut,
        instance: &Instance,
        settings: &Value,
        packs: &[Pack],
    ) -> Result<Result<(), ConfigureError>, CallError> {
        each!(&self.0, own => own.configure(store, instance, settings, packs))
    }

    /// Looks a gate up in an instance. What is returned can be called any number of times on that instance.
    pub fn open(&self, store: impl AsContextMut, instance: &Instance, gate: GateName) -> Result<Gate, CallError> {
        Ok(Gate(match &self.0 {
            Exports::V01(own) => Opened::V01(own.open(store, instance, gate)?),
            #[cfg(feature = "draft-0-2")]
            Exports::V02(own) => Opened::V02(own.open(store, instance, gate)?),
        }))
    }
}

/// One gate of one instance, ready to be called. Calling it on another store is an error.
#[derive(Clone, Debug)]
pub struct Gate(Opened);

#[derive(Clone, Debug)]
enum Opened {
    V01(v0_1::Gate),
    #[cfg(feature = "draft-0-2")]
    V02(v0_2::Gate),
}

impl Gate {
    /// Returns which gate it is.
    pub fn name(&self) -> GateName {
        match &self.0 {
            Opened::V01(gate) => gate.name(),
            #[cfg(feature = "draft-0-2")]
            Opened::V02(gate) => gate.name(),
        }
    }

    /// Lets the policy judge a subject of this gate. Without `payload`, documents and segments are left out.
    pub fn evaluate(
        &self,
        store: impl AsContextMut,
        facts: &Facts,
        subject: &Subject,
        payload: bool,
    ) -> Result<Answer, CallError> {
        match &self.0 {
            Opened::V01(gate) => gate.evaluate(store, facts, subject, payload),
            #[cfg(feature = "draft-0-2")]
            Opened::V02(gate) => gate.evaluate(store, facts, subject, payload),
        }
    }
}

/// Links what the lines offer to policies.
pub fn add_to_linker<T: LogSink + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    v0_1::add_to_linker(linker)?;
    #[cfg(feature = "draft-0-2")]
    v0_2::add_to_linker(linker)?;
    Ok(())
}

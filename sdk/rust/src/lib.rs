//! Writes Portcullis policies in Rust.
//!
//! A policy is a pure function of settings, packs, subject and facts. It decides; the host enforces. An author implements [`Policy`] and
//! one trait for each gate where the policy judges, then names them in [`export!`]. What is not named is not exported, so the
//! component says by its shape where it takes part.
//!
//! ```
//! use portcullis_sdk::{CallGate, Description, Facts, Packs, Policy, Rights, Verdict, call_gate::Call};
//!
//! #[derive(Default, serde::Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Settings {
//!     /// Tools that nobody may call.
//!     tools: Vec<String>,
//! }
//!
//! struct Forbid(Settings);
//!
//! impl Policy for Forbid {
//!     type Settings = Settings;
//!
//!     fn describe() -> Description {
//!         Description::new("forbid", "1.0.0", "Refuses named tools.").wants(Rights::DENY)
//!     }
//!
//!     fn new(settings: Settings, _packs: &Packs) -> Result<Self, portcullis_sdk::ConfigureError> {
//!         Ok(Self(settings))
//!     }
//! }
//!
//! impl CallGate for Forbid {
//!     fn authorize(&self, _facts: &Facts, call: &Call) -> Verdict {
//!         if self.0.tools.contains(&call.name) {
//!             return Verdict::deny("forbidden-tool", "the settings forbid this tool");
//!         }
//!         Verdict::allow()
//!     }
//! }
//!
//! portcullis_sdk::export!(Forbid: CallGate);
//! ```
//!
//! Built for `wasm32-unknown-unknown` and encoded with `wasm-tools component new` (or `wit-component`), the policy imports nothing but
//! types, and `log` where it logs. The crate knows nothing of how the host runs it.

#![forbid(unsafe_code)]

// The generated code names this crate by its public name, from inside as well as from the crates of policies.
#[allow(unused_extern_crates, reason = "named by generated code only")]
extern crate self as portcullis_sdk;

#[doc(hidden)]
pub mod bindings;
mod configure;
mod describe;
#[doc(hidden)]
pub mod export;
mod facts;
pub mod glob;
mod glue;
pub mod log;
mod packs;
mod policy;
mod segment;
mod selection;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod verdict;

pub use bindings::base::exports::portcullis::policy::lifecycle::{ConfigureError, Description, Meter, Rights, Rule};
pub use bindings::base::portcullis::policy::types::{
    Annotations, ApproverClass, Blank, Charge, Client, Decision, Denial, Descriptor, Echo, Edit, Encoding, Era, Facts,
    Fence, Finding, Label, LabelFact, MeterReading, PinState, Question, Removal, Replacement, Role, Segment, Severity,
    Span, Trust, Verdict,
};
pub use packs::{Pack, Packs};
pub use policy::{CallGate, ConfigGate, EnvironmentGate, ListingGate, Policy, RequestGate, ResultGate};

/// What the config gate judges.
pub mod config_gate {
    pub use crate::bindings::base::portcullis::policy::types::{Entry, Launch, Occasion, Origin, Stdio, Variable};
}

/// What the environment gate judges, and its answer.
pub mod environment_gate {
    pub use crate::bindings::environment::exports::portcullis::policy::environment_gate::{
        Offered, Platform, Selection, Subject,
    };
}

/// What the listing gate judges.
pub mod listing_gate {
    pub use crate::bindings::listing::exports::portcullis::policy::listing_gate::{
        Batch, CatalogueEntry, DriftedField, FieldDigest, Item, Kind, Pinned,
    };
}

/// What the call gate judges.
pub mod call_gate {
    pub use crate::bindings::call::exports::portcullis::policy::call_gate::{Call, Kind};
}

/// What the result gate judges.
pub mod result_gate {
    pub use crate::bindings::result::exports::portcullis::policy::result_gate::{Kind, Subject};
}

/// What the request gate judges.
pub mod request_gate {
    pub use crate::bindings::request::exports::portcullis::policy::request_gate::{FormField, Kind, Request, Sampling};
}

pub use environment_gate::Selection;
pub use serde_json;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

//! The vocabulary of Portcullis: pure data that every other crate of the host speaks.
//!
//! It knows nothing about WebAssembly, transports, files or time. The types mirror the WIT package in `wit/v0.1`
//! (conversions live in `portcullis-bindings`), plus the lossless JSON value that all MCP traffic is held in.

#![forbid(unsafe_code)]

pub mod json;

mod address;
mod capability;
mod day;
mod description;
mod digest;
mod edit;
mod entry;
mod exemption;
mod facts;
mod gate;
mod id;
mod secret;
mod segment;
mod subject;
mod verdict;

pub use address::is_special_address;
pub use capability::{CapabilityGrants, HttpGrant, HttpOrigin, OriginError, is_public};
pub use day::{Day, DayError};
pub use description::{Description, Meter, Pack, Rights, Rule};
pub use digest::Digest;
pub use edit::{Edit, Replacement};
pub use entry::{Launch, Occasion, Origin, ServerEntry};
pub use exemption::Exemption;
pub use facts::{ApproverClass, ClientFacts, Echo, Encoding, Era, Facts, LabelFact, MeterReading, Trust};
pub use gate::GateName;
pub use id::{IdError, PolicyName, Principal, RuleId, ServerName, SessionId};
pub use secret::Secret;
pub use segment::{Role, Segment, Span};
pub use subject::{
    Annotations, Batch, CallKind, CallSubject, CatalogueEntry, ConfigSubject, Descriptor, DriftedField,
    EnvironmentSubject, FieldDigest, FormField, Item, ItemKind, Offered, PinState, Pinned, Platform, RequestKind,
    RequestSubject, ResultKind, ResultSubject, Sampling, Subject,
};
pub use verdict::{Answer, Charge, Decision, Denial, Finding, Label, Question, Selection, Severity, Verdict};

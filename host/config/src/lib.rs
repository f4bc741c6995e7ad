//! Reads the config: servers, policies, approvals, journal, naming.
//!
//! A config is read once into a small tree that remembers where everything stands, variables are put in, and each part
//! is read into plain data. Nothing here fails as a whole: each mistake becomes one located [`Diagnostic`], the server
//! that it belongs to is left out, and the others run.

#![forbid(unsafe_code)]

mod catalog;
mod clients;
mod config;
mod diagnostic;
mod edit;
mod fields;
mod interpolation;
mod key_path;
mod secrets;
mod sections;
mod server;
mod sink;
mod surroundings;
mod tree;

pub use catalog::{Asked, Manifest, ManifestError, Parameter, SandboxNeeds, built_in};
pub use clients::{Client, ClientText, ClientTextError, FileFormat, Foreign, FoundEntry, Place, Places, System};
pub use config::{Config, ReadError, Source};
pub use diagnostic::{Diagnostic, DiagnosticKind, Level};
pub use edit::{ConfigText, EditError};
pub use secrets::{Concealed, conceal, conceal_variables};
pub use sections::approvals::{Approvals, OperatorProof};
pub use sections::control::{CONTROL_TOOLS, Channel, ControlSection};
pub use sections::journal::{Durability, JournalSection, Payloads};
pub use sections::naming::Naming;
pub use sections::policies::{AllowUnsigned, PoliciesSection, PolicyEntry, UpdateMode, UpdateSection};
pub use sections::results::{Repeated, Results};
pub use sections::serve::{ServeConsent, ServeSection};
pub use sections::status::StatusTool;
pub use server::Server;
pub use server::oauth::{ClientAuthentication, LoginFlow, OAuthSettings};
pub use server::options::{
    Authentication, ChatEndpoint, ClientIdentity, Network, Protocol, Sandbox, ServerOptions, TlsVerification,
    ToolFilter,
};
pub use surroundings::Surroundings;

//! What a new policy begins with: a project for each language that builds, with the contract and the SDK in it.
//!
//! A project needs nothing of ours but the program: the contract (`wit/`) and the SDK are copied into it, so that it builds the same
//! tomorrow, with whatever version of the program. The crate writes no file and knows no tool chain.
//!
//! ```
//! use portcullis_model::GateName;
//! use portcullis_templates::{Language, Project};
//!
//! let project = Project::new("no-secrets", Language::C, &[GateName::Call]).unwrap();
//! assert!(project.files().iter().any(|(path, text)| path == "src/policy.c" && text.contains("no-secrets")));
//! ```

#![forbid(unsafe_code)]

mod embedded;
mod language;
mod project;

pub use language::{Language, UnknownLanguage};
pub use project::{EXAMPLE, Project, ProjectError};

/// The world that the tool chains build for: its name in `wit/guest.wit`.
pub const WORLD: &str = "guest";

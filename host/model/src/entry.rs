//! A server entry of the config, after interpolation.

use std::fmt;

use crate::json::Value;
use crate::{Secret, ServerName};

/// Where an entry came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The operator's own config file.
    ConfigFile,
    /// The config of a client application.
    ClientConfig,
    /// A file of a project, written by whoever wrote the project.
    ProjectFile,
    /// The catalog.
    Catalog,
    /// Arguments of a command.
    CommandLine,
}

/// What is about to happen with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// It is written to the config.
    Save,
    /// It is taken over from another config.
    Import,
    /// It is installed from the catalog.
    Install,
    /// It is tried out.
    Probe,
    /// Its process is about to start.
    Start,
    /// Its endpoint is about to be connected.
    Connect,
    /// A new policy set judges it again while it runs.
    Rejudge,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// A process that speaks over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its working directory, if not the gateway's.
        working_directory: Option<String>,
        /// Variables laid over the selected environment, in file order.
        environment: Vec<(String, Secret)>,
    },
    /// An endpoint reached over HTTP.
    Http {
        /// The URL.
        url: String,
        /// Headers of every request, in file order.
        headers: Vec<(String, Secret)>,
        /// True for the HTTP+SSE transport of 2024-11-05.
        legacy_sse: bool,
    },
}

/// A server entry of the config, after interpolation. Its `Debug` shows neither document nor launch: both may hold
/// secrets.
#[derive(Clone, PartialEq)]
pub struct ServerEntry {
    /// The name that the config gives to the server.
    pub name: ServerName,
    /// How it is reached.
    pub launch: Launch,
    /// Where the entry came from.
    pub origin: Origin,
    /// The whole entry, members that are not named here included. Holds secrets.
    pub document: Value,
}

impl fmt::Debug for ServerEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerEntry")
            .field("name", &self.name)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_an_entry_shows_no_secret() {
        let entry = ServerEntry {
            name: ServerName::parse("one").unwrap(),
            launch: Launch::Http { url: "http://u:hunter2@host".to_owned(), headers: Vec::new(), legacy_sse: false },
            origin: Origin::ConfigFile,
            document: Value::from("hunter2"),
        };
        assert!(!format!("{entry:?}").contains("hunter2"));
    }
}

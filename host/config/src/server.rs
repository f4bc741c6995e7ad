//! One server of the config.

pub(crate) mod chat;
pub(crate) mod launch;
pub(crate) mod oauth;
pub(crate) mod options;
pub(crate) mod read;
pub(crate) mod requests;
pub(crate) mod sandbox;
pub(crate) mod security;
pub(crate) mod tools;

use std::sync::Arc;

use portcullis_model::{ServerEntry, ServerName};

use crate::ServerOptions;

/// A server that can be run.
#[derive(Clone, Debug)]
pub struct Server {
    /// What is started or connected, as policies judge it.
    pub entry: Arc<ServerEntry>,
    /// How the gateway treats it.
    pub options: ServerOptions,
}

impl Server {
    /// Returns the name that the config gives to the server.
    pub fn name(&self) -> &ServerName {
        &self.entry.name
    }
}

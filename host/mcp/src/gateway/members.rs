//! The servers of a fleet.

use std::collections::HashMap;
use std::sync::Arc;

use portcullis_model::ServerName;

use super::server::Server;

/// The servers of a fleet, in the order of the config. Immutable: a change of the config makes another one.
#[derive(Debug, Default)]
pub(crate) struct Members {
    list: Vec<Arc<Server>>,
    by_name: HashMap<ServerName, Arc<Server>>,
}

impl Members {
    /// Takes servers of different names.
    pub(crate) fn new(list: Vec<Arc<Server>>) -> Self {
        let by_name = list.iter().map(|server| (server.name().clone(), Arc::clone(server))).collect();
        Self { list, by_name }
    }

    /// Returns the servers.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Arc<Server>> {
        self.list.iter()
    }

    /// Returns true where this very server is one of them, not another one of its name.
    pub(crate) fn contains(&self, server: &Server) -> bool {
        self.get(server.name()).is_some_and(|member| member.index == server.index)
    }

    /// Returns the server of that name.
    pub(crate) fn get(&self, name: &ServerName) -> Option<&Arc<Server>> {
        self.by_name.get(name)
    }
}

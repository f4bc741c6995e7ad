//! How a client came in.

use portcullis_model::{Principal, ServerName};

/// The transport of a client on two pipes.
const STDIO: &str = "stdio";

/// How a client is shown the schemas of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schemas {
    /// As the server listed them.
    #[default]
    Listed,
    /// In the form that model providers take, see [`portcullis_registry::provider_schema`]: for clients that hand them on
    /// as they are.
    Provider,
}

impl Schemas {
    /// Reads the query of an address, as in `schemas=provider`. What says nothing of schemas leaves them as they are.
    pub(crate) fn of_query(query: Option<&str>) -> Self {
        let is_wanted = query.unwrap_or_default().split('&').any(|member| member == "schemas=provider");
        if is_wanted { Self::Provider } else { Self::Listed }
    }
}

/// How a client came in: what is known of it before it says anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entrance {
    /// The transport, as the names of its sessions begin.
    pub(crate) transport: &'static str,
    /// Who it acts for.
    pub(crate) principal: Principal,
    /// The only server that it sees; all where there is none.
    pub(crate) scope: Option<ServerName>,
    /// How it is shown the schemas of tools.
    pub(crate) schemas: Schemas,
}

impl Entrance {
    /// The entrance of a client on two pipes: whoever started this process.
    pub(crate) fn stdio(schemas: Schemas) -> Self {
        Self { transport: STDIO, principal: local(), scope: None, schemas }
    }

    /// Returns true where it is the one client on the standard streams of this process.
    pub(crate) fn is_stdio(&self) -> bool {
        self.transport == STDIO
    }

    /// Returns true where the server is one that the client may see.
    pub(crate) fn admits(&self, server: &ServerName) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope == server)
    }
}

/// Returns the principal of whoever uses this machine as us.
pub(crate) fn local() -> Principal {
    Principal::parse("local").expect("a fixed word")
}

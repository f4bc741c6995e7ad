//! The six places where policies decide.

use std::fmt;

/// A place in the MCP flow where policies decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GateName {
    /// Before a server entry is saved, started or connected.
    Config,
    /// Before a stdio server gets its environment.
    Environment,
    /// Before an item that a server lists is published.
    Listing,
    /// Before a call reaches a server.
    Call,
    /// Before anything of a server reaches the model.
    Result,
    /// Before a request of a server reaches the client.
    Request,
}

impl GateName {
    /// All gates, in the order in which traffic meets them.
    pub const ALL: [Self; 6] =
        [Self::Config, Self::Environment, Self::Listing, Self::Call, Self::Result, Self::Request];

    /// Returns the name used in config, output and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Environment => "environment",
            Self::Listing => "listing",
            Self::Call => "call",
            Self::Result => "result",
            Self::Request => "request",
        }
    }

    /// Returns the gate of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == text)
    }
}

impl fmt::Display for GateName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

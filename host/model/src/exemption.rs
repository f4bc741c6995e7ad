//! What an operator exempts from a rule of a policy.

use std::fmt;

use crate::{Day, RuleId, ServerName};

/// One rule that does not count for one server, or for one of its tools, for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exemption {
    /// The rule, as the policy declares it.
    pub rule: RuleId,
    /// The server.
    pub server: ServerName,
    /// The server's own name of a tool, prompt or resource; nothing for all of them, and for what is about none.
    pub tool: Option<String>,
    /// The last day on which it counts.
    pub until: Day,
    /// Why, for whoever reads it later.
    pub reason: String,
}

impl fmt::Display for Exemption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` for `{}`", self.rule, self.server)?;
        if let Some(tool) = &self.tool {
            write!(formatter, ", `{}`", tool.escape_debug())?;
        }
        write!(formatter, " until {}: {}", self.until, self.reason.escape_debug())
    }
}

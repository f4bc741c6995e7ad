//! `approvals`: who is asked, and for how long.

use std::time::Duration;

use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::Sink;
use crate::tree::Node;

/// Who is asked, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvals {
    /// False where the client is never asked.
    pub client: bool,
    /// Longest wait for an answer.
    pub timeout: Duration,
    /// Most questions of one principal that wait at a time.
    pub waiting: u64,
    /// Names of clients that are known to answer by themselves, which are never asked. Besides those that are built in.
    pub auto_answerers: Vec<String>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { client: true, timeout: Duration::from_mins(5), waiting: 32, auto_answerers: Vec::new() }
    }
}

/// Reads `approvals`.
pub(crate) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> Approvals {
    let defaults = Approvals::default();
    let mut fields = Fields::new(node, path.clone(), sink);
    let approvals = Approvals {
        client: fields.boolish("client").unwrap_or(defaults.client),
        timeout: fields.seconds("timeout").unwrap_or(defaults.timeout),
        waiting: fields.count("waiting", 1).unwrap_or(defaults.waiting),
        auto_answerers: fields.texts("auto_answerers").unwrap_or_default(),
    };
    // A switch of the reference client that has no counterpart here.
    let _: Option<_> = fields.raw("mcp_reload_confirm");
    fields.finish();
    approvals
}

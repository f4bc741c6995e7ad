//! `status`: whether the agent is told what became of servers.

use crate::fields::{Fields, boolish};
use crate::key_path::KeyPath;
use crate::sink::Sink;
use crate::tree::Node;

/// When the tool is published that tells what became of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StatusTool {
    /// Never: an agent cannot tell a server that is down from one that was never configured.
    Off,
    /// While a server is missing.
    #[default]
    Missing,
    /// Always.
    Always,
}

/// Reads `status: off`, or `status: {tool: off | missing | always}`.
pub(crate) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> StatusTool {
    if boolish(node) == Some(false) {
        return StatusTool::Off;
    }
    let mut fields = Fields::new(node, path.clone(), sink);
    let words = [
        ("off", StatusTool::Off),
        // What `off` may be written as, or read as by a writer of YAML.
        ("false", StatusTool::Off),
        ("missing", StatusTool::Missing),
        ("always", StatusTool::Always),
    ];
    let tool = fields.choice("tool", &words).unwrap_or_default();
    fields.finish();
    tool
}

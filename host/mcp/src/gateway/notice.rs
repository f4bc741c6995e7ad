//! The tool that tells a model which servers are missing. It is there only while one is: a model that is not told takes
//! the tools that it sees for all that there are, and improvises.

use portcullis_config::StatusTool;
use portcullis_model::json::Value;
use portcullis_model::object;

use super::Fleet;
use super::instructions::{SAFE_MODE, down};
use super::members::Members;
use super::server::Server;
use crate::approver::shown;
use crate::downstream::Reply;
use crate::status::{ServerStatus, Usage};

/// The published name of the tool. Where a server has a tool of that name, that one stands.
pub(crate) const STATUS_TOOL: &str = "portcullis_status";

const ALL_THERE: &str = "No MCP server is known to be missing.";

/// So many servers are told of.
const MOST_SERVERS: usize = 100;

impl Fleet {
    /// Returns what a model should know of servers whose tools it does not see; nothing where none is missing.
    pub(crate) fn notice(&self, members: &Members, offers: impl Fn(&Server) -> bool) -> Option<String> {
        let tool = self.shared.arrangement.load().status;
        if tool == StatusTool::Off {
            return None;
        }
        if self.options().safe_mode.is_some() {
            return Some(SAFE_MODE.to_owned());
        }
        // One that is tried again while its tools are still published is not missing yet.
        let missing = members.iter().filter(|server| !offers(server)).map(|server| server.status());
        let down = down(&missing.collect::<Vec<_>>());
        if tool == StatusTool::Always { Some(down.unwrap_or_else(|| ALL_THERE.to_owned())) } else { down }
    }

    /// Answers a call of the status tool, in the host's own words.
    pub(crate) fn tell_status(&self) -> Reply {
        let mut lines = Vec::new();
        if self.options().safe_mode.is_some() {
            lines.push(SAFE_MODE.to_owned());
        }
        let statuses: Vec<ServerStatus> = self.members().iter().map(|server| server.status()).collect();
        for status in statuses.iter().take(MOST_SERVERS) {
            let code = status.reason_code.as_deref().map_or_else(String::new, |code| format!(", code: {code}"));
            let tools =
                if status.phase.is_up() { format!(", {} tools", status.counts.tools_exposed) } else { String::new() };
            let used = used(&status.usage);
            lines.push(format!("{}: {}{code}{tools}{used}", shown(status.server.as_str(), 64), status.phase.as_str()));
        }
        let more = statuses.len().saturating_sub(MOST_SERVERS);
        if more > 0 {
            lines.push(format!("and {more} more servers"));
        }
        lines.push("Only the user can change this; `portcullis list` shows them the reasons.".to_owned());
        let block: Value = object! { "type" => "text", "text" => lines.join("\n") }.into();
        Reply::Own(object! { "content" => vec![block] }.into())
    }
}

/// Returns what a server was used for, in words; nothing where it was not.
fn used(usage: &Usage) -> String {
    let Usage { requests, errors, unanswered, tokens_sent, tokens_received, .. } = usage;
    if *requests == 0 {
        return String::new();
    }
    format!(
        ", {requests} requests ({errors} errors, {unanswered} without an answer), about {tokens_sent} tokens sent and \
         {tokens_received} received"
    )
}

/// Returns the definition of the status tool.
pub(crate) fn document(notice: &str) -> Value {
    object! {
        "name" => STATUS_TOOL,
        "title" => "State of the MCP servers",
        "description" => format!("{notice} Call this for the present state of all MCP servers."),
        "inputSchema" => object! { "type" => "object", "properties" => object! {} },
        "annotations" => object! { "readOnlyHint" => true, "openWorldHint" => false },
    }
    .into()
}

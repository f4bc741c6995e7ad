//! `entry-origin`

use portcullis_sdk::Severity;
use portcullis_sdk::config_gate::Origin;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Asks about entries that came with a project.
///
/// # Why
/// Whoever can write to a repository could otherwise have a program started on every machine that opens it. What was confirmed
/// is the entry as it is: another one asks again.
///
/// # Example
/// ```json
/// {"mcpServers": {"build": {"command": "node", "args": ["tools/server.js"]}}}
/// ```
/// in the `.mcp.json` of a repository.
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "entry-origin",
    summary: "An entry that somebody else than the operator wrote.",
    severity: Severity::Medium,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    match context.entry.origin {
        Origin::ProjectFile => hits.ask("the entry came with a project, and nobody here has confirmed it", ""),
        // The operator named the file, the server or the command.
        Origin::ConfigFile | Origin::ClientConfig | Origin::Catalog | Origin::CommandLine => {}
    }
}

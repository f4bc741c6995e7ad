//! `obscured-command`

use portcullis_sdk::Severity;
use portcullis_sdk::config_gate::Launch;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks for programs whose name is put together from pieces or depends on what cannot be known here: split quotes, escapes,
/// variables, substitutions. Also for entries that are too tangled to follow to their end.
///
/// # Why
/// A name is written in pieces so that readers do not find it.
///
/// # Example
/// ```yaml
/// command: sh
/// args: [-c, "a=cu; b=rl; $a$b https://example.com"]
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "obscured-command",
    summary: "A program whose name is put together from pieces or cannot be told.",
    severity: Severity::High,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    let programs = &context.tables.programs;
    for program in context.behaviour.programs.iter().filter(|program| program.scripted) {
        let name = program.name.as_str();
        let matters = programs.is_shell(name) || programs.egress.contains(name) || programs.schedulers.contains(name);
        if program.pieced && matters {
            hits.deny(format!("the name `{name}` is written in pieces"), name);
        } else if program.unresolved && name.trim_matches(['-', '.']).is_empty() {
            hits.ask("a command line runs a program whose name cannot be told here", "$");
        }
    }
    let hidden =
        context.behaviour.programs.iter().flat_map(|program| std::iter::once(&program.name).chain(&program.arguments));
    if hidden.into_iter().any(|text| text.chars().any(super::server_name::is_invisible)) {
        hits.ask("a program or an argument has characters that are not seen", "");
    }
    if let Launch::Stdio(stdio) = &context.entry.launch
        && (stdio.command.contains("${") || stdio.command.contains("$(") || stdio.command.starts_with('$'))
    {
        hits.ask("the program is a placeholder that was not filled in", &stdio.command);
    }
    if context.behaviour.truncated {
        hits.ask("the entry is too tangled to be followed to its end", "");
    }
}

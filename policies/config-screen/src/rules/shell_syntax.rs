//! `shell-syntax`

use portcullis_sdk::Severity;
use portcullis_sdk::config_gate::Launch;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks for the syntax of shells in arguments of a program that is started without one: substitutions, chained commands.
///
/// # Why
/// It means nothing to the program, and runs as soon as anything on the way hands the arguments to a shell, as batch files on
/// Windows do.
///
/// # Example
/// ```yaml
/// command: node
/// args: ["$(curl https://example.com)"]
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "shell-syntax",
    summary: "Syntax of a shell in arguments of a program that is started without one.",
    severity: Severity::Medium,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    let Launch::Stdio(stdio) = &context.entry.launch else {
        return;
    };
    let programs = &context.tables.programs;
    let entry = context.behaviour.programs.iter().filter(|program| !program.scripted);
    let read_by_shell = entry.into_iter().any(|program| {
        programs.is_shell(&program.name)
            || programs.interpreters.contains(&program.name) && !context.behaviour.code.is_empty()
    });
    if read_by_shell {
        return;
    }
    for argument in &stdio.arguments {
        let ticks =
            argument.split('`').count() == 3 && argument.split('`').nth(1).is_some_and(|inner| !inner.is_empty());
        let substitution = argument.split_once("$(").is_some_and(|(_, rest)| rest.contains(')'));
        let chained = matches!(argument.as_str(), "&&" | "||" | "|" | ";" | ">" | ">>");
        if ticks || substitution || chained {
            hits.ask("an argument has the syntax of a shell", argument);
        }
    }
}

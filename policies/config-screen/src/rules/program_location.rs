//! `program-location`

use portcullis_sdk::Severity;
use portcullis_sdk::config_gate::Launch;

use super::loader_variable::is_foreign_place;
use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks at where programs and scripts lie: hidden files in folders for temporary files, and a `PATH` that puts such a folder, or
/// one that no system has, before the others.
///
/// # Why
/// Whoever can write there decides what runs under a well-known name.
///
/// # Example
/// ```yaml
/// command: node
/// args: [s.js]
/// env: {PATH: "/tmp/.bin:/usr/bin"}
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "program-location",
    summary: "A program or a search path in a place where anybody can put something.",
    severity: Severity::High,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    for variable in &context.entry.environment {
        if variable.name.eq_ignore_ascii_case("PATH") {
            search_path(&variable.value, hits);
        }
    }
    if let Launch::Stdio(stdio) = &context.entry.launch {
        file(&stdio.command, hits);
    }
    let programs = &context.tables.programs;
    for program in &context.behaviour.programs {
        let reads = programs.is_shell(&program.name)
            || programs.interpreters.contains(&program.name)
            || matches!(program.name.as_str(), "source" | ".");
        let script = program.arguments.iter().find(|argument| !argument.starts_with('-') && !argument.contains(' '));
        if let Some(script) = script.filter(|_| reads) {
            file(script, hits);
        }
    }
}

/// A hidden file in a folder for temporary files, or in one for uploads.
fn file(text: &str, hits: &mut Hits) {
    let lower = text.to_lowercase().replace('\\', "/");
    let temporary = ["/tmp/", "/var/tmp/", "/dev/shm/", "/temp/"].iter().any(|folder| lower.contains(folder));
    let is_hidden = |part: &str| part.len() > 1 && part.starts_with('.') && part != "..";
    if temporary && lower.rsplit('/').next().is_some_and(is_hidden) {
        hits.deny("runs a hidden file in a folder for temporary files", text);
    } else if temporary && lower.split('/').any(|part| is_hidden(part) && !matches!(part, ".bin" | ".venv")) {
        // Libraries for temporary folders make hidden ones too.
        hits.flag("runs a file of a hidden folder among temporary ones", text);
    } else if lower.starts_with("/dev/shm/") || lower.starts_with("/proc/") {
        hits.ask("runs a file that lies in memory", text);
    }
}

fn search_path(value: &str, hits: &mut Hits) {
    let windows = value.contains(';') || value.get(1..3) == Some(":\\");
    for folder in value.split(if windows { ';' } else { ':' }) {
        let lower = folder.trim().to_lowercase().replace('\\', "/");
        if lower.is_empty()
            || lower == "."
            || lower.starts_with("./")
            || lower.starts_with("..")
            || is_foreign_place(&format!("{lower}/"))
        {
            hits.deny("`PATH` has a folder where anybody can put a program", folder);
        } else if !is_usual(&lower) {
            hits.ask("`PATH` has a folder that is not one of the usual", folder);
        }
    }
}

fn is_usual(lower: &str) -> bool {
    let starts = [
        "/usr/",
        "/bin",
        "/sbin",
        "/opt/",
        "/nix/",
        "/snap/",
        "/home/",
        "/users/",
        "/root/",
        "/library/",
        "/system/",
        "/applications/",
        "/app",
        "/run/current-system",
        "/var/lib/",
        "~",
        "$",
        "%",
        "c:/windows",
        "c:/program files",
        "c:/users/",
        "c:/programdata",
        "/mnt/c/",
        "<",
    ];
    starts.iter().any(|start| lower.starts_with(start))
        || lower.ends_with("node_modules/.bin")
        || lower.contains("/venv/")
        || lower.contains("/.venv/")
}

//! `persistence`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};
use crate::launch::{Code, Program};

/// # What it does
/// Looks for programs and code that write where something starts by itself or lets somebody in: keys, start files of shells,
/// schedulers, services, hooks. Reading such a file is flagged.
///
/// # Why
/// A server needs none of it, and what is written there outlives the server.
///
/// # Example
/// ```yaml
/// command: sh
/// args: [-c, "cd ~/.ssh && cat k >> auth*"]
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "persistence",
    summary: "A program or code that writes where something starts by itself or lets somebody in.",
    severity: Severity::Critical,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    for program in &context.behaviour.programs {
        scheduler(context, program, hits);
        files(context, program, hits);
    }
    for code in &context.behaviour.code {
        in_code(context, code, hits);
    }
    for script in &context.behaviour.scripts {
        if let Some(target) = target(context, script) {
            hits.flag(format!("a command line names `{target}`"), target);
        }
    }
}

fn scheduler(context: &Context<'_>, program: &Program, hits: &mut Hits) {
    let name = program.name.as_str();
    if !context.tables.programs.schedulers.contains(name) {
        return;
    }
    let has =
        |words: &[&str]| program.arguments.iter().any(|argument| words.contains(&argument.to_lowercase().as_str()));
    let harmless = match name {
        "crontab" => has(&["-l"]),
        "at" | "batch" => program.arguments.is_empty() && !program.scripted,
        "schtasks" | "sc" => !has(&["/create", "create", "/change", "config", "start"]),
        "reg" => !has(&["add", "import"]),
        "launchctl" => !has(&["load", "bootstrap", "enable", "submit", "start"]),
        "systemctl" | "loginctl" => {
            !has(&["enable", "start", "link", "enable-linger", "daemon-reload", "edit", "preset"])
        }
        _ => false,
    };
    if harmless {
        hits.flag(format!("runs `{name}`"), name);
    } else {
        hits.deny(format!("`{name}` installs something that starts by itself"), name);
    }
}

fn files(context: &Context<'_>, program: &Program, hits: &mut Hits) {
    let name = program.name.as_str();
    for file in &program.writes {
        if let Some(target) = placed(context, program, file) {
            hits.deny(format!("writes to `{target}`"), target);
        }
    }
    let last = program.arguments.len().saturating_sub(1);
    for (index, argument) in program.arguments.iter().enumerate() {
        let Some(target) = placed(context, program, argument) else {
            continue;
        };
        let programs = &context.tables.programs;
        let writes = match name {
            "cp" | "mv" | "ln" | "install" | "rsync" | "scp" => index == last,
            "sed" | "perl" => {
                program.arguments.iter().any(|argument| argument.starts_with("-i") || argument == "--in-place")
            }
            "dd" => argument.starts_with("of="),
            "curl" | "wget" => {
                index.checked_sub(1).and_then(|before| program.arguments.get(before)).is_some_and(|option| {
                    option.starts_with("-o")
                        || option.starts_with("-O")
                        || option.starts_with("--output")
                        || option.starts_with("-P")
                })
            }
            other => programs.writers.contains(other),
        };
        if writes {
            hits.deny(format!("`{name}` writes to `{target}`"), target);
        } else if !programs.readers.contains(name) && program.scripted && !programs.is_shell(name) && name != "cd" {
            hits.ask(format!("a command line runs `{name}` on `{target}`"), target);
        } else {
            hits.flag(format!("`{name}` is given `{target}`"), target);
        }
    }
}

fn in_code(context: &Context<'_>, code: &Code, hits: &mut Hits) {
    let Some(target) = target(context, &code.text) else {
        return;
    };
    let lower = code.text.to_lowercase();
    let writes = [
        "write",
        "append",
        "open(",
        "'a'",
        "\"a\"",
        "'w'",
        "\"w\"",
        ">>",
        "file_put",
        "fs.",
        "add-content",
        "out-file",
        "copy",
        "symlink",
        "tee",
    ];
    if writes.iter().any(|word| lower.contains(word)) {
        hits.deny(format!("code for `{}` writes to `{target}`", code.interpreter), target);
    } else {
        hits.ask(format!("code for `{}` names `{target}`", code.interpreter), target);
    }
}

/// Returns the target that a file is, in the folder that the script changed to before.
fn placed<'a>(context: &'a Context<'_>, program: &Program, file: &str) -> Option<&'a str> {
    target(context, file).or_else(|| {
        let folder = program.folder.as_deref()?;
        let relative = !file.starts_with(['/', '~', '-']) && !file.contains(':');
        relative.then(|| target(context, &format!("{folder}/{file}"))).flatten()
    })
}

/// Returns the target that a text names.
pub(super) fn target<'a>(context: &'a Context<'_>, text: &str) -> Option<&'a str> {
    let mut text = text.to_lowercase().replace('\\', "/").replace("$home", "~").replace("${home}", "~");
    while text.contains("//") || text.contains("/./") {
        text = text.replace("/./", "/").replace("//", "/");
    }
    context.tables.persistence.iter().map(String::as_str).find(|target| names(&text, target))
}

fn names(text: &str, target: &str) -> bool {
    let joins = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-');
    text.match_indices(target).any(|(start, _)| {
        let (before, from) = text.split_at(start);
        let after = from.get(target.len()..).unwrap_or_default();
        let starts = target.starts_with('/') || !before.ends_with(|one: char| joins(one) || one == '.');
        // Folders of the system are prefixes: what is below and beside them is meant too.
        let ends = target.starts_with("/etc/")
            || target.ends_with('/')
            || !after.starts_with(|one: char| joins(one) || one == '.');
        let rooted = !target.starts_with('/') || before.is_empty() || !before.ends_with(joins);
        starts && ends && rooted
    })
}

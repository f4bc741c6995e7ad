//! `loader-variable`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};
use crate::launch::Program;

/// # What it does
/// Looks for variables that make a program load code: of the dynamic linker, of shells, interpreters, virtual machines and git.
/// Code in a folder for temporary or hidden files, or on another machine, is refused; other code asks; search paths are flagged.
///
/// # Why
/// The program of the entry looks harmless, and something else runs.
///
/// # Example
/// ```yaml
/// command: npx
/// args: [-y, some-server]
/// env: {NODE_OPTIONS: --require /tmp/x.js}
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "loader-variable",
    summary: "A variable that makes the program load code.",
    severity: Severity::High,
    check,
};

/// Variables whose value is code, or a file with code.
const CODE: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_FRAMEWORK_PATH",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PERL5DB",
    "PERL5OPT",
    "RUBYOPT",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "DOTNET_STARTUP_HOOKS",
    "CORECLR_PROFILER_PATH",
    "COR_PROFILER_PATH",
    "NPM_CONFIG_SCRIPT_SHELL",
    "NPM_CONFIG_NODE_OPTIONS",
    "NPM_CONFIG_USERCONFIG",
    "NPM_CONFIG_GLOBALCONFIG",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "GTK_MODULES",
    "QT_PLUGIN_PATH",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "SUDO_ASKPASS",
    "GCONV_PATH",
    "R_PROFILE_USER",
    "JULIA_LOAD_PATH",
];
/// Variables that matter by some of what they may hold.
const OPTIONS: &[(&str, &[&str])] = &[
    (
        "NODE_OPTIONS",
        &[
            "--require",
            "-r ",
            "-r=",
            "--import",
            "--loader",
            "--experimental-loader",
            "--eval",
            "--inspect",
            "--openssl",
        ],
    ),
    (
        "JAVA_TOOL_OPTIONS",
        &["-javaagent", "-agentlib", "-agentpath", "-xx:onerror", "-xx:onoutofmemoryerror", "-cp", "-xbootclasspath"],
    ),
    (
        "_JAVA_OPTIONS",
        &["-javaagent", "-agentlib", "-agentpath", "-xx:onerror", "-xx:onoutofmemoryerror", "-xbootclasspath"],
    ),
    ("JDK_JAVA_OPTIONS", &["-javaagent", "-agentlib", "-agentpath", "-xx:onerror", "-xbootclasspath", "@"]),
    ("DENO_ARGS", &["-a", "--allow-all", "--preload"]),
    ("BUN_OPTIONS", &["--preload", "-r", "--require", "--import"]),
];
/// Variables that say where code is looked for first.
const SEARCH: &[&str] = &[
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "NODE_PATH",
    "PERL5LIB",
    "RUBYLIB",
    "GEM_PATH",
    "GEM_HOME",
    "CLASSPATH",
    "LUA_PATH",
    "LUA_CPATH",
];

fn check(context: &Context<'_>, hits: &mut Hits) {
    let own = context.entry.environment.iter().map(|variable| (variable.name.as_str(), variable.value.as_str()));
    for (name, value) in own.collect::<Vec<_>>() {
        variable(name, value, hits);
    }
    for program in &context.behaviour.programs {
        options(program, hits);
    }
    let assigned =
        context.behaviour.programs.iter().filter(|program| {
            matches!(program.name.as_str(), "export" | "env" | "declare" | "docker" | "podman" | "sudo")
        });
    for argument in assigned.flat_map(|program| &program.arguments) {
        if let Some((name, value)) = argument.split_once('=') {
            variable(name, value, hits);
        }
    }
}

/// Options that load code before the program itself.
fn options(program: &Program, hits: &mut Hits) {
    const LOADING: &[&str] = &[
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "--preload",
        "-javaagent",
        "-agentpath",
        "--rcfile",
        "--init-file",
    ];
    let mut words = program.arguments.iter().peekable();
    while let Some(word) = words.next() {
        let (option, attached) =
            word.split_once(['=', ':']).map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
        let value = attached.or_else(|| words.peek().map(|next| next.as_str())).unwrap_or_default();
        if LOADING.contains(&option) && is_foreign_place(&value.to_lowercase()) {
            hits.deny(format!("`{}` loads code from a place where anybody can put it", program.name), word);
        }
    }
}

fn variable(name: &str, value: &str, hits: &mut Hits) {
    let upper = name.to_uppercase();
    let lower = value.to_lowercase();
    let code = CODE.contains(&upper.as_str());
    let option = OPTIONS.iter().any(|(known, parts)| *known == upper && parts.iter().any(|part| lower.contains(part)));
    if value.trim().is_empty() {
        return;
    }
    // Numbered settings of git may name programs (git-config, GIT_CONFIG_COUNT).
    let code = code || upper.starts_with("GIT_CONFIG_KEY_") || upper == "GIT_CONFIG_COUNT" || upper == "LESSOPEN";
    if code || option {
        if is_foreign_place(&lower) {
            hits.deny(format!("`{name}` loads code from a place where anybody can put it"), name);
        } else {
            hits.ask(format!("`{name}` makes the program load code"), name);
        }
    } else if SEARCH.contains(&upper.as_str()) {
        if is_foreign_place(&lower) {
            hits.ask(format!("`{name}` looks for code in a place where anybody can put it"), name);
        } else {
            hits.flag(format!("`{name}` says where code is looked for"), name);
        }
    }
}

/// Returns true where a value names a folder for temporary files, a hidden file there or beside it, or another machine.
pub(super) fn is_foreign_place(lower: &str) -> bool {
    let folders = [
        "/tmp/",
        "/var/tmp/",
        "/dev/shm/",
        "/temp/",
        "\\temp\\",
        "%temp%",
        "\\appdata\\local\\temp",
        "/downloads/",
        "\\downloads\\",
        "/users/public",
        "\\users\\public",
        "http://",
        "https://",
        "\\\\",
        "data:",
    ];
    folders.iter().any(|folder| lower.contains(folder)) || lower == "/tmp" || lower.starts_with("//")
}

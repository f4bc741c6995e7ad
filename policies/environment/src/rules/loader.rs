//! # loader-variable
//!
//! **What it does.** Tells the operator that the entry itself sets a variable by which foreign code enters a program before its
//! first line: of the dynamic loader, or of the start of an interpreter.
//!
//! **Why.** Such a variable turns a harmless command into another program. The host never passes them from its own environment; an
//! entry that sets one does so on purpose, and whoever reads the log should see it.
//!
//! **Example.** `env: { LD_PRELOAD: "/tmp/x.so" }`, `env: { NODE_OPTIONS: "--require /tmp/x.js" }`.

use portcullis_sdk::config_gate::Variable;
use portcullis_sdk::{Finding, Rule, Severity};

use super::list;
use crate::pattern;

const ID: &str = "loader-variable";

/// Names and prefixes, each documented by the loader or interpreter that reads it.
const NAMES: [&str; 22] = [
    "LD_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "BASH_ENV",
    "ENV",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
];

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "Names variables of the entry that load foreign code into the server.")
}

pub(super) fn finding(environment: &[Variable], windows: bool) -> Option<Finding> {
    let loads = |name: &&str| NAMES.iter().any(|known| pattern::names(known, name, windows));
    let names = list(environment.iter().map(|variable| variable.name.as_str()).filter(loads));
    if names.is_empty() {
        return None;
    }
    Some(Finding::new(ID, Severity::Medium, ["the entry sets ", &names, ", which loads code into the server"].concat()))
}

//! # base-names
//!
//! **What it does.** Passes eight names and everything that begins with `XDG_`: what a process needs to find programs, a home, a
//! language, a terminal and its own folders.
//!
//! **Why.** The environment of an agent is full of keys. A server that gets it all can read them without asking anybody.
//!
//! **Example.** `PATH` and `XDG_CACHE_HOME` pass; `OPENAI_API_KEY` and `path` (another variable on Linux) do not.

use crate::pattern;

/// The names that the reference client passes.
const NAMES: [&str; 9] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR", "XDG_*"];

/// Returns true for a base name.
pub(crate) fn matches(name: &str, windows: bool) -> bool {
    NAMES.iter().any(|known| pattern::names(known, name, windows))
}

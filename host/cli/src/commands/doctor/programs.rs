//! The programs that servers are started by.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portcullis_config::Config;
use portcullis_model::Launch;

use super::Examined;
use crate::failure::one_line;

/// Looks for the program of every server that is switched on.
pub(super) fn examine(config: &Config, examined: &mut Examined) {
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for server in config.servers.iter().filter(|server| server.options.enabled) {
        if let Launch::Stdio { command, .. } = &server.entry.launch {
            wanted.insert(command.clone());
        }
    }
    for command in wanted {
        match find(&command) {
            Some(path) => examined.good("programs", format!("{}: {}", one_line(&command), path.display())),
            None => examined.bad("programs", format!("`{}` is not found", one_line(&command)), hint(&command)),
        }
    }
    if let (Some(_), None) = (find("npx"), find("node")) {
        examined.bad("programs", "`npx` is there and `node` is not", "put the folder of `node` into `PATH`");
    }
}

fn hint(command: &str) -> &'static str {
    match command {
        "npx" | "node" | "npm" => "install Node.js, or put its folder into the `PATH` of the gateway",
        "uvx" | "uv" => "install uv, or put its folder into the `PATH` of the gateway",
        "docker" => "install Docker, or put its folder into the `PATH` of the gateway",
        _ => "write its whole path into `command`, or put its folder into the `PATH` of the gateway",
    }
}

/// Finds a program as a shell would.
fn find(command: &str) -> Option<PathBuf> {
    if command.contains(['/', '\\']) {
        return Some(PathBuf::from(command)).filter(|path| is_program(path));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let endings: &[&str] = if cfg!(windows) { &["", ".exe", ".cmd", ".bat"] } else { &[""] };
    let candidates = std::env::split_paths(&folders)
        .flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{command}{ending}"))));
    candidates.into_iter().find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

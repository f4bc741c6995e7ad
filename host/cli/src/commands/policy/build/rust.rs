//! Rust: cargo for `wasm32-unknown-unknown`, so that the component needs no system at all.

use std::process::Command;

use portcullis_model::json::{Value, parse};

use super::{encode, tool};
use crate::arguments::Format;
use crate::commands::policy::project::Project;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

const TARGET: &str = "wasm32-unknown-unknown";

const HINT: &str = "it needs Rust 1.95 or newer and `rustup target add wasm32-unknown-unknown`";

pub(super) fn build(project: &Project, format: Format) -> Result<Vec<u8>, Failure> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&project.folder).args(["build", "--release", "--lib", "--target", TARGET]);
    cargo.arg("--message-format=json-render-diagnostics");
    let messages = tool(&mut cargo, "compiling with cargo", HINT, format)?;
    // The last library is that of the folder: cargo builds what it depends on before.
    let path = messages.split(|byte| *byte == b'\n').rev().find_map(library).ok_or_else(|| {
        Failure::new(Exit::Failed, "cargo built no module")
            .hint("Cargo.toml needs `crate-type = [\"cdylib\", \"rlib\"]`")
    })?;
    let module = std::fs::read(&path).or_exit(Exit::Failed, format!("reading the module {path}"))?;
    encode::component(&module)
}

/// Returns the module that a message of cargo names, where it does.
fn library(message: &[u8]) -> Option<String> {
    let message = parse(message).ok()?;
    if message.get("reason").and_then(Value::as_str) != Some("compiler-artifact") {
        return None;
    }
    let files = message.get("filenames").and_then(Value::as_array)?;
    files.iter().filter_map(Value::as_str).find(|file| is_module(file)).map(str::to_owned)
}

fn is_module(file: &str) -> bool {
    std::path::Path::new(file).extension().is_some_and(|extension| extension == "wasm")
}

#[cfg(test)]
mod tests {
    use super::library;

    #[test]
    fn the_module_is_found_among_the_messages_of_cargo() {
        let message = br#"{"reason":"compiler-artifact","target":{"kind":["cdylib"]},"filenames":["/t/a.wasm"]}"#;
        assert_eq!(library(message).as_deref(), Some("/t/a.wasm"));
        assert_eq!(library(br#"{"reason":"compiler-artifact","filenames":["/t/liba.rlib"]}"#), None);
        assert_eq!(library(br#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(library(b""), None);
    }
}

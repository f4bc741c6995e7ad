//! Builds the default policies, encodes them as components, and writes the table that the crate embeds.
//!
//! A second cargo builds them for `wasm32-unknown-unknown`, into a folder of its own beside the profile folders of the outer
//! build: the outer cargo holds the lock of its own folder while this runs, and a stable place keeps rebuilds short.

mod compile;
mod encode;
mod table;

use std::fmt;
use std::path::{Path, PathBuf};

/// The policies of the bundle, by the name of their folder. Each exports at least one gate.
const POLICIES: &[&str] = &[
    "config-screen",
    "description-scan",
    "environment",
    "flow",
    "package-advisories",
    "pins",
    "result-sanitizer",
    "server-requests",
    "trust",
];

/// Those that judge only if the operator's config says something of them, with what they may import besides the contract. The
/// rest may import nothing else.
const OPTIONAL: &[(&str, &[&str])] = &[(
    "package-advisories",
    &["wasi:http/types@0.2", "wasi:http/outgoing-handler@0.2", "wasi:io/", "wasi:clocks/monotonic-clock@0.2"],
)];

fn main() -> Result<(), Failure> {
    let bundle = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let output = PathBuf::from(variable("OUT_DIR")?);
    let workspace = bundle.ancestors().nth(2).ok_or_else(|| Failure::new("the bundle is not two folders deep"))?;
    watch(workspace);
    let modules = compile::modules(workspace, &output, POLICIES)?;
    let mut entries = Vec::new();
    for (name, module) in POLICIES.iter().zip(modules) {
        let optional = OPTIONAL.iter().find(|(optional, _)| optional == name);
        let component = encode::component(name, &module, optional.map_or(&[], |(_, imports)| imports))?;
        entries.push(table::Entry::read(workspace, &output, name, component, optional.is_some())?);
    }
    table::write(&output, &entries)
}

/// Names what the policies are made of. Cargo looks into folders for itself.
fn watch(workspace: &Path) {
    let shared = [
        "Cargo.toml",
        "Cargo.lock",
        "wit/v0.1",
        "sdk/rust/src",
        "sdk/rust/Cargo.toml",
        "policies/text",
        "policies/bundle/build",
    ];
    let own = POLICIES
        .iter()
        .flat_map(|name| ["src", "packs", "settings.yaml", "Cargo.toml"].map(|part| format!("policies/{name}/{part}")));
    for path in shared.map(str::to_owned).into_iter().chain(own) {
        let path = workspace.join(path);
        // A path that is missing counts as changed, so it is named only where it exists. One that appears later comes with a
        // change of the policy's sources.
        if path.exists() {
            instruct("rerun-if-changed", &path.display().to_string());
        }
    }
}

/// Tells cargo something.
#[expect(clippy::print_stdout, reason = "cargo reads the instructions of a build script from its standard output")]
fn instruct(key: &str, value: &str) {
    println!("cargo::{key}={value}");
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_missing| Failure::new(format!("cargo did not set {name}")))
}

/// Why the bundle was not built. Cargo prints what `main` returns with `Debug`, so that is made for people.
struct Failure(String);

impl Failure {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

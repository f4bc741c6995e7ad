//! The table of the bundle, as source text that the crate includes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Failure;

/// What is embedded of one policy.
pub(crate) struct Entry {
    name: String,
    wasm: PathBuf,
    digest: String,
    settings: String,
    packs: Vec<(String, PathBuf)>,
    optional: bool,
}

impl Entry {
    /// Reads what lies beside the policy, and stores its component.
    pub(crate) fn read(
        workspace: &Path,
        output: &Path,
        name: &str,
        component: Vec<u8>,
        optional: bool,
    ) -> Result<Self, Failure> {
        let folder = workspace.join("policies").join(name);
        let wasm = output.join(format!("{name}.wasm"));
        let mut digest = String::new();
        for byte in Sha256::digest(&component) {
            let _infallible = write!(digest, "{byte:02x}");
        }
        fs::write(&wasm, component).map_err(|error| failure(&wasm, &error))?;
        // A bundle policy needs no settings: a missing file means the defaults.
        let settings = fs::read_to_string(folder.join("settings.yaml")).unwrap_or_else(|_missing| "{}".to_owned());
        Ok(Self { name: name.to_owned(), wasm, digest, settings, packs: packs(&folder.join("packs"))?, optional })
    }
}

fn packs(folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut packs = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder).map_err(|error| failure(folder, &error))? {
            let path = entry.map_err(|error| failure(folder, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "yaml")
                && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            {
                packs.push((name.to_owned(), path.clone()));
            }
        }
    }
    packs.sort();
    Ok(packs)
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// Writes the table.
pub(crate) fn write(output: &Path, entries: &[Entry]) -> Result<(), Failure> {
    let mut text = String::from("&[\n");
    for Entry { name, wasm, digest, settings, packs, optional } in entries {
        let wasm = literal(wasm)?;
        let _infallible = writeln!(
            text,
            "    Bundled {{ name: {name:?}, wasm: include_bytes!({wasm}), digest: {digest:?}, settings_yaml: {settings:?}, optional: {optional}, packs: &["
        );
        for (pack, path) in packs {
            let _infallible = writeln!(text, "        ({pack:?}, include_str!({})),", literal(path)?);
        }
        text.push_str("    ] },\n");
    }
    text.push_str("]\n");
    let path = output.join("bundled.rs");
    fs::write(&path, text).map_err(|error| failure(&path, &error))
}

/// A path as a string literal of Rust.
fn literal(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| Failure::new(format!("{} is not UTF-8", path.display())))?;
    Ok(format!("{text:?}"))
}

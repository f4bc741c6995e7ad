//! Embeds the contract, the SDKs, the templates and the examples, so that a binary alone can begin a policy.

mod c;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is embedded, by its place in the project.
const ROOTS: [&str; 11] = [
    "wit/v0.1",
    "sdk/rust/src",
    "sdk/c",
    "sdk/js",
    "sdk/python",
    "sdk/examples",
    "sdk/templates/common",
    "sdk/templates/rust",
    "sdk/templates/c",
    "sdk/templates/js",
    "sdk/templates/python",
];

#[expect(clippy::print_stdout, reason = "cargo reads the instructions of a build script from its standard output")]
fn main() -> io::Result<()> {
    let crate_folder = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let output = PathBuf::from(std::env::var("OUT_DIR").map_err(io::Error::other)?);
    let project =
        crate_folder.ancestors().nth(2).ok_or_else(|| io::Error::other("the crate is not two folders deep"))?;
    let mut files = Vec::new();
    for root in ROOTS {
        println!("cargo::rerun-if-changed={}", project.join(root).display());
        collect(&project.join(root), &mut files)?;
    }
    let bindings = c::generate(&project.join("wit/v0.1"), &output)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        let place = file.strip_prefix(project).map_err(io::Error::other)?;
        let place = place.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        let _infallible = writeln!(table, "    ({place:?}, include_str!({:?})),", file.display().to_string());
    }
    for (name, path) in bindings {
        let _infallible = writeln!(table, "    (\"sdk/c/{name}\", include_str!({:?})),", path.display().to_string());
    }
    table.push_str("]\n");
    fs::write(output.join("files.rs"), table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // What an interpreter or an editor leaves behind is no source.
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name.starts_with("__") || name == "node_modules" || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

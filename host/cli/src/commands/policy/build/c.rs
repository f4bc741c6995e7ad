//! C: clang and wasm-ld, with the bindings that lie in the folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use portcullis_templates::WORLD;
use wit_component::StringEncoding;
use wit_parser::{Resolve, WorldId};

use super::{encode, tool};
use crate::arguments::Format;
use crate::commands::policy::project::Project;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

const HINT: &str = "it needs clang and lld: `apt install clang lld`; `CLANG` names another clang";

pub(super) fn build(project: &Project, format: Format) -> Result<Vec<u8>, Failure> {
    let wit = project.folder.join("wit");
    let (resolve, world) = world(&wit).or_exit(Exit::Usage, format!("reading the world in {}", wit.display()))?;
    let module = project.output().join("core.wasm");
    let sdk = project.folder.join("portcullis");
    let mut clang = Command::new(std::env::var_os("CLANG").unwrap_or_else(|| "clang".into()));
    clang.args([
        "--target=wasm32-unknown-unknown",
        "-std=c17",
        "-O2",
        "-Wall",
        "-Wextra",
        "-nostdlib",
        "-ffreestanding",
    ]);
    clang.args(gates(&resolve, world));
    for folder in [&sdk, &sdk.join("include")] {
        clang.arg("-I").arg(folder);
    }
    clang.args(["-Wl,--no-entry", "-Wl,--strip-debug", "-o"]).arg(&module);
    for folder in [&project.folder.join("src"), &sdk] {
        clang.args(sources(folder));
    }
    tool(&mut clang, "compiling with clang", HINT, format)?;
    let mut module = fs::read(&module).or_exit(Exit::Failed, format!("reading {}", module.display()))?;
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .or_exit(Exit::Failed, "writing the world into the module")?;
    encode::component(&module)
}

fn world(wit: &Path) -> Result<(Resolve, WorldId), Box<dyn std::error::Error + Send + Sync>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some(WORLD))?;
    Ok((resolve, world))
}

/// Returns the macros under which the bindings of the world's gates stand.
fn gates(resolve: &Resolve, world: WorldId) -> Vec<OsString> {
    let exports = resolve.worlds.get(world).into_iter().flat_map(|world| world.exports.keys());
    let names = exports.map(|key| resolve.name_world_key(key));
    let gate =
        |name: String| Some(name.strip_prefix("portcullis:policy/")?.split_once("-gate@")?.0.to_ascii_uppercase());
    names.filter_map(gate).map(|gate| format!("-DGUEST_{gate}_GATE").into()).collect()
}

/// Returns the sources of a folder, in the order of their names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect();
    files.sort();
    files
}

//! Core modules, by a second cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, variable};

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile in the manifest of the workspace.
const PROFILE: &str = "policy";

/// Bytes of stack of a guest. Rust's 1 MiB is never used, and after each evaluation the host looks through all memory for pages
/// that were written to; what recurses in a policy is bounded to a few levels of small frames.
const STACK: u32 = 256 * 1024;

/// What an outer build hands on and a build for another target must not see: flags, wrappers and places meant for the host.
const FOREIGN: [&str; 9] = [
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CLIPPY_ARGS",
];

/// Builds the policies and returns their core modules in the same order.
pub(crate) fn modules(workspace: &Path, output: &Path, names: &[&str]) -> Result<Vec<Vec<u8>>, Failure> {
    require_target()?;
    let target = folder(output)?;
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.current_dir(workspace).args(["build", "--locked", "--lib", "--target", TARGET, "--profile", PROFILE]);
    cargo.arg("--target-dir").arg(&target);
    for name in names {
        cargo.arg("--package").arg(format!("portcullis-policy-{name}"));
    }
    for name in FOREIGN {
        cargo.env_remove(name);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(workspace));
    let status = cargo.status().map_err(|error| Failure::new(format!("cargo did not start: {error}")))?;
    if !status.success() {
        return Err(Failure::new(format!("the policies did not build for {TARGET}; the errors of cargo stand above")));
    }
    names
        .iter()
        .map(|name| {
            let file = format!("portcullis_policy_{}.wasm", name.replace('-', "_"));
            let path = target.join(TARGET).join(PROFILE).join(file);
            std::fs::read(&path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
        })
        .collect()
}

/// Flags for the guests: vector instructions, which every engine that has components has, a small stack, and paths that say nothing of the
/// machine. Digests still differ from folder to folder: cargo hashes the place of a crate into its symbols, which orders them.
fn flags(workspace: &Path) -> String {
    let mut flags = vec![
        "-Ctarget-feature=+simd128".to_owned(),
        format!("-Clink-arg=-zstack-size={STACK}"),
        remap(workspace, "portcullis"),
    ];
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    flags.extend(home.map(|home| remap(&home, "cargo")));
    flags.join("\u{1f}")
}

fn remap(path: &Path, name: &str) -> String {
    format!("--remap-path-prefix={}={name}", path.display())
}

/// The folder of the second build: beside the profile folder that holds the output of this script.
fn folder(output: &Path) -> Result<PathBuf, Failure> {
    let build = output.ancestors().find(|path| path.file_name().is_some_and(|name| name == "build"));
    let beside = build.and_then(Path::parent).and_then(Path::parent);
    beside
        .map(|folder| folder.join("policies"))
        .ok_or_else(|| Failure::new(format!("{} is no output folder of cargo", output.display())))
}

/// Says what is missing before the compiler says it in its own words, which name no remedy for a second cargo.
fn require_target() -> Result<(), Failure> {
    let mut rustc = Command::new(variable("RUSTC")?);
    let answer = rustc
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|error| Failure::new(format!("rustc did not start: {error}")))?;
    let library = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    if answer.status.success() && library.is_dir() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the default policies are WebAssembly, and the target {TARGET} is not installed.\n\nhint: rustup target add {TARGET}\n"
    )))
}

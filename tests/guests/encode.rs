//! Makes components of the texts in this folder.

use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageId, Resolve};

/// Returns a path inside the workspace, whichever of its crates this file is built in.
fn folder(path: &str) -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_folder.ancestors().find(|folder| folder.join("wit/v0.1").is_dir()).expect("the workspace");
    root.join(path)
}

pub(crate) fn path(name: &str) -> PathBuf {
    folder("tests/guests").join(format!("{name}.wat"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect("the guest of that name")
}

/// Parts that a guest leaves to an honest policy.
const DEFAULTS: [(&str, &str); 4] = [
    ("(func $describe", "(func $describe (result i32) (i32.const 256))"),
    ("(func $configure", "(func $configure (param i32 i32 i32 i32) (result i32) (i32.const 640))"),
    ("(func $judge", "(func $judge (param i32) (result i32) (i32.const 512))"),
    ("(memory ", r#"(memory (export "memory") 1)"#),
];

/// Encodes the guest of that name. Its first line may name another world than the call policy's.
pub(crate) fn component(name: &str) -> Vec<u8> {
    component_of(&text(name))
}

/// Encodes a guest from its parts.
pub(crate) fn component_of(parts: &str) -> Vec<u8> {
    let world = parts.lines().find_map(|line| line.strip_prefix(";; world: ")).unwrap_or("call-policy");
    let (import, body): (Vec<_>, Vec<_>) = parts.lines().partition(|line| line.starts_with("(import "));
    let mut body = body.join("\n");
    let mut memory = String::new();
    for (marker, default) in DEFAULTS {
        if !parts.contains(marker) {
            let part = if marker == "(memory " { &mut memory } else { &mut body };
            part.push_str(default);
        }
    }
    body.push_str(
        r#"
        (export "portcullis:policy/lifecycle@0.1.0#describe" (func $describe))
        (export "portcullis:policy/lifecycle@0.1.0#configure" (func $configure))"#,
    );
    body.push_str(match world {
        "call-policy" | "wasi-policy" => r#"(export "portcullis:policy/call-gate@0.1.0#authorize" (func $judge))"#,
        "result-policy" => r#"(export "portcullis:policy/result-gate@0.1.0#sanitize" (func $judge))"#,
        other => panic!("no guest has the world {other}"),
    });
    let module = text("base")
        .replace(";; @import\n", &import.join("\n"))
        .replace(";; @memory\n", &memory)
        .replace(";; @body\n", &body);
    encode(wat::parse_str(&module).unwrap_or_else(|error| panic!("{error}\n{module}")), world)
}

/// As much of WASI as the guests import, and a world that has it.
const WASI: [&str; 5] = [
    "package wasi:io@0.2.0;
     interface poll { resource pollable { block: func(); } }",
    "package wasi:clocks@0.2.0;
     interface monotonic-clock {
         use wasi:io/poll@0.2.0.{pollable};
         now: func() -> u64;
         subscribe-duration: func(when: u64) -> pollable;
     }",
    "package wasi:cli@0.2.0;
     interface environment { get-environment: func() -> list<tuple<string, string>>; }",
    "package wasi:random@0.2.0;
     interface random { get-random-u64: func() -> u64; }",
    "package test:guests;
     world wasi-policy {
         import wasi:clocks/monotonic-clock@0.2.0;
         import wasi:cli/environment@0.2.0;
         import wasi:random/random@0.2.0;
         include portcullis:policy/call-policy@0.1.0;
     }",
];

/// Encodes a guest of the draft of the next line, from its whole text.
#[allow(dead_code, reason = "not every test crate has guests of the draft")]
pub(crate) fn of_draft(name: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(folder("tests/guests/draft").join(format!("{name}.wat"))).expect("the guest");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder("wit/v0.2-draft")).expect("the draft");
    metadata(wat::parse_str(&text).expect("a module"), &resolve, package, "call-policy")
}

fn encode(module: Vec<u8>, world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (mut package, _) = resolve.push_dir(folder("wit/v0.1")).expect("the contract");
    if world == "wasi-policy" {
        for text in WASI {
            package = resolve.push_str("wasi.wit", text).expect("a package");
        }
    }
    metadata(module, &resolve, package, world)
}

fn metadata(mut module: Vec<u8>, resolve: &Resolve, package: PackageId, world: &str) -> Vec<u8> {
    let world = resolve.select_world(&[package], Some(world)).expect("the world");
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).expect("a module that fits the world");
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(&module).expect("a module with metadata");
    encoder.encode().expect("a valid component")
}

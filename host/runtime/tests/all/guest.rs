//! Makes policies of the texts in `tests/guests`, and facts and subjects for them.

use std::path::PathBuf;

use portcullis_gates::Isolation;
use portcullis_model::json::{Value, parse_str};
use portcullis_model::{
    Annotations, CallKind, CallSubject, ClientFacts, Era, Facts, PinState, Principal, ResultKind, ResultSubject, Role,
    Segment, ServerName, SessionId, Subject,
};
use portcullis_runtime::{Budget, Engine, EngineOptions, Evaluator, Loaded, Loader};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub(crate) fn path(name: &str) -> PathBuf {
    folder("tests/guests").join(format!("{name}.wat"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
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

fn encode(mut module: Vec<u8>, world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (mut package, _) = resolve.push_dir(folder("wit/v0.1")).unwrap();
    if world == "wasi-policy" {
        for text in WASI {
            package = resolve.push_str("wasi.wit", text).unwrap();
        }
    }
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// Returns an engine that is small enough to have several in one test binary.
pub(crate) fn engine() -> Engine {
    Engine::new(EngineOptions { slots: 16, workers: 2, queue: 16, ..EngineOptions::default() }).unwrap()
}

pub(crate) fn loader() -> Loader {
    Loader::without_cache(engine()).unwrap()
}

pub(crate) fn settings() -> Value {
    parse_str("{}").unwrap()
}

pub(crate) fn load(wasm: &[u8]) -> Loaded {
    loader().load(wasm, &settings(), &[], &Budget::DEFAULT).unwrap()
}

/// Loads the guest of that name with the default budget.
pub(crate) fn evaluator(name: &str) -> Evaluator {
    load(&component(name)).evaluator(Budget::DEFAULT, Isolation::Fresh)
}

pub(crate) fn facts() -> Facts {
    Facts {
        session: SessionId::parse("session").unwrap(),
        principal: Principal::parse("someone").unwrap(),
        client: ClientFacts { name: "client".to_owned(), version: "1".to_owned() },
        era: Era::Initialize,
        server: Some(server()),
        server_trust: None,
        approver: None,
        labels: Vec::new(),
        echoes_incomplete: false,
        echoes: Vec::new(),
        meters: Vec::new(),
        tool_rounds: 0,
        round: 1,
    }
}

fn server() -> ServerName {
    ServerName::parse("server").unwrap()
}

pub(crate) fn call_with(text: &str) -> Subject {
    Subject::Call(CallSubject {
        server: server(),
        kind: CallKind::Tool,
        name: "echo".to_owned(),
        utility: false,
        annotations: Annotations::default(),
        pin: PinState::Unpinned,
        definition: None,
        arguments: Value::from(text),
        segments: vec![segment(Role::Argument, text)],
    })
}

pub(crate) fn call() -> Subject {
    call_with("hello")
}

pub(crate) fn result() -> Subject {
    Subject::Result(ResultSubject {
        server: server(),
        kind: ResultKind::Result,
        name: "echo".to_owned(),
        is_error: false,
        segments: vec![segment(Role::Text, "hellö")],
        descriptors: Vec::new(),
    })
}

fn segment(role: Role, text: &str) -> Segment {
    Segment { pointer: "/text".to_owned(), role, key: false, text: text.to_owned() }
}

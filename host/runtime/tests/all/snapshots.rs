//! What cannot be snapshotted runs all the same, from freshly configured instances, and says why.

use portcullis_gates::{Evaluate, Isolation};
use portcullis_model::{Answer, Verdict};
use portcullis_runtime::{Budget, Inspection, Loader, StartKind};

use crate::guest::{call, component_of, engine, facts, settings};

/// Loads a policy that must not be snapshotted, checks that it judges, and returns why.
async fn reason(wasm: &[u8]) -> String {
    Inspection::of(wasm).unwrap();
    let loader = Loader::without_cache(engine()).unwrap();
    let loaded = loader.load(wasm, &settings(), &[], &Budget::DEFAULT).unwrap();
    let StartKind::Configured { reason, .. } = loaded.start.clone() else {
        panic!("a snapshot was taken");
    };
    let evaluator = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
    for _ in 0..4 {
        let evaluation = evaluator.evaluate(&facts(), &call()).await;
        assert_eq!(evaluation.outcome, Ok(Answer::Verdict(Verdict::allow())));
    }
    reason
}

/// A guest with a table, segments, and one more instruction that never runs.
async fn reason_of_instruction(instruction: &str) -> String {
    let parts =
        format!("(table $t 4 8 funcref)\n(elem $e func $judge)\n(data $d \"x\")\n(func $never {instruction})\n");
    reason(&component_of(&parts)).await
}

#[tokio::test]
async fn instructions_that_change_tables_or_drop_segments_are_told() {
    let indices = "(i32.const 0) (i32.const 0) (i32.const 0)";
    for (name, instruction) in [
        ("table.set", "(table.set $t (i32.const 0) (ref.null func))".to_owned()),
        ("table.grow", "(drop (table.grow $t (ref.null func) (i32.const 1)))".to_owned()),
        ("table.fill", "(table.fill $t (i32.const 0) (ref.null func) (i32.const 0))".to_owned()),
        ("table.init", format!("(table.init $t $e {indices})")),
        ("table.copy", format!("(table.copy $t $t {indices})")),
        ("elem.drop", "(elem.drop $e)".to_owned()),
        ("data.drop", "(data.drop $d)".to_owned()),
    ] {
        let reason = reason_of_instruction(&instruction).await;
        assert!(reason.contains(name), "{name}: {reason}");
    }
}

#[tokio::test]
async fn a_mutable_reference_global_is_told() {
    let reason = reason(&component_of("(global $g (mut funcref) (ref.null func))")).await;
    assert!(reason.contains("reference"), "{reason}");
}

#[tokio::test]
async fn a_v128_global_is_told() {
    let reason = reason(&component_of("(global $g (mut v128) (v128.const i32x4 0 0 0 0))")).await;
    assert!(reason.contains("v128"), "{reason}");
}

#[tokio::test]
async fn a_nested_component_with_a_module_is_told() {
    let nested = wat::parse_str("(component (core module))").unwrap();
    let reason = reason(&with_section(component_of(""), 4, &nested)).await;
    assert!(reason.contains("nested components"), "{reason}");
}

#[tokio::test]
async fn a_module_that_is_instantiated_twice_is_told() {
    let wasm = component_of("");
    let modules = wasmparser::Parser::new(0)
        .parse_all(&wasm)
        .filter(|payload| matches!(payload, Ok(wasmparser::Payload::ModuleSection { .. })))
        .count();
    let wasm = with_section(wasm, 1, &wat::parse_str("(module)").unwrap());
    let index = u8::try_from(modules).unwrap();
    // Two instances of that module, without arguments.
    let wasm = with_section(wasm, 2, &[2, 0, index, 0, 0, index, 0]);
    let reason = reason(&wasm).await;
    assert!(reason.contains("at most once"), "{reason}");
}

#[test]
fn a_component_with_a_start_function_is_no_policy_at_all() {
    // The engine does not know component start functions either, so nothing could run it.
    let wasm = with_section(component_of(""), 9, &[0, 0, 0]);
    let loader = Loader::without_cache(engine()).unwrap();
    loader.load(&wasm, &settings(), &[], &Budget::DEFAULT).unwrap_err();
}

/// Appends a section to a component.
fn with_section(mut wasm: Vec<u8>, id: u8, content: &[u8]) -> Vec<u8> {
    wasm.push(id);
    let mut length = content.len();
    while length > 0x7f {
        wasm.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    wasm.push(u8::try_from(length).unwrap());
    wasm.extend_from_slice(content);
    wasm
}

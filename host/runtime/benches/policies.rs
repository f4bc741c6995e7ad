//! What a policy costs: an evaluation on a warm and on a fresh instance, a cached load, a compilation.
//!
//! Goals on an idle machine: warm 1 µs, fresh 12 µs with 10 KB passed in, cached load 5 ms.

#![allow(missing_docs, clippy::unwrap_used, reason = "a measurement")]

#[path = "../tests/all/guest.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "shared with the tests")]
mod guest;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use portcullis_gates::{Evaluate, Isolation};
use portcullis_runtime::{Budget, Loader};

/// Runs a future that is ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the evaluation did not run in place"),
    }
}

fn evaluate(criterion: &mut Criterion) {
    // Gives back the memory that it was called with, so that it can be called again and again.
    let judge = "(func $judge (param i32) (result i32) (global.set $heap (i32.const 32768)) (i32.const 512))";
    let loaded = guest::load(&guest::component_of(judge));
    let facts = guest::facts();
    for (size, text) in [("100 B", 100), ("10 KB", 10 * 1024)] {
        let subject = guest::call_with(&"x".repeat(text));
        for (name, isolation) in [("warm", Isolation::Reuse), ("fresh", Isolation::Fresh)] {
            let evaluator = loaded.evaluator(Budget::DEFAULT, isolation);
            while !evaluator.is_inline() {
                evaluator.evaluate_here(&facts, &subject).outcome.unwrap();
            }
            criterion.bench_function(&format!("no-op, {name}, {size}"), |bencher| {
                bencher.iter(|| now(evaluator.evaluate(black_box(&facts), black_box(&subject))).outcome.unwrap());
            });
        }
    }
}

fn load(criterion: &mut Criterion) {
    let wasm = guest::component_of("");
    let folder = tempfile::TempDir::new().unwrap();
    let loader = Loader::with_cache(guest::engine(), folder.path()).unwrap();
    let settings = guest::settings();
    loader.load(&wasm, &settings, &[], &Budget::DEFAULT).unwrap();
    criterion.bench_function("load, cached", |bencher| {
        bencher.iter(|| assert!(loader.load(&wasm, &settings, &[], &Budget::DEFAULT).unwrap().cached));
    });
    let loader = guest::loader();
    criterion.bench_function("load, compiled and snapshotted", |bencher| {
        bencher.iter(|| assert!(!loader.load(&wasm, &settings, &[], &Budget::DEFAULT).unwrap().cached));
    });
}

criterion_group!(benches, evaluate, load);
criterion_main!(benches);

//! A policy that imports a WASI gets one with nothing in it.

use std::time::{Duration, Instant};

use portcullis_gates::{Evaluate, Isolation};
use portcullis_model::{Answer, Verdict};
use portcullis_runtime::{Budget, Capability, StartKind};

use crate::guest::{call, component, facts, load};

#[tokio::test]
async fn the_clock_stands_the_environment_is_empty_and_waiting_takes_no_time() {
    let loaded = load(&component("wasi"));
    assert_eq!(loaded.inspection.capabilities, [Capability::InertWasi]);
    assert_eq!(loaded.start, StartKind::Snapshot);
    let evaluator = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
    let before = Instant::now();
    for _ in 0..20 {
        let evaluation = evaluator.evaluate(&facts(), &call()).await;
        assert_eq!(evaluation.outcome, Ok(Answer::Verdict(Verdict::allow())));
    }
    // Each of them waits for an hour.
    assert!(before.elapsed() < Duration::from_secs(30));
    // Its functions may not run inside of an async runtime.
    assert!(!evaluator.is_inline());
}

#[tokio::test]
async fn a_policy_that_holds_handles_is_not_snapshotted() {
    let loaded = load(&component("wasi-handle"));
    let StartKind::Configured { reason, .. } = &loaded.start else { panic!("a snapshot was taken") };
    assert!(reason.contains("handles"), "{reason}");
    let evaluator = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
    let evaluation = evaluator.evaluate(&facts(), &call()).await;
    assert_eq!(evaluation.outcome, Ok(Answer::Verdict(Verdict::allow())));
}

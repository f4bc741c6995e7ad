//! Instances judge once, whenever they are made ready and cleared.

use portcullis_gates::{Evaluate as _, Isolation};
use portcullis_model::{Answer, Verdict};
use portcullis_runtime::{Budget, Engine, EngineOptions, Evaluator, Loader};
use tokio::task::yield_now;

use crate::guest::{call, component, facts, settings};

/// Returns a policy that denies where an instance judges for the second time, in an engine of few slots.
fn remembers(slots: u32) -> Evaluator {
    let engine = Engine::new(EngineOptions { slots, workers: 2, queue: 16, ..EngineOptions::default() }).unwrap();
    let loader = Loader::without_cache(engine).unwrap();
    let loaded = loader.load(&component("remembers"), &settings(), &[], &Budget::DEFAULT).unwrap();
    loaded.evaluator(Budget::DEFAULT, Isolation::Fresh)
}

async fn allows(evaluator: &Evaluator) -> bool {
    evaluator.evaluate(&facts(), &call()).await.outcome == Ok(Answer::Verdict(Verdict::allow()))
}

#[tokio::test]
async fn an_instance_that_is_made_ready_while_a_thread_has_nothing_to_do_judges_once() {
    let evaluator = remembers(16);
    for _ in 0..40 {
        assert!(allows(&evaluator).await);
        yield_now().await;
    }
}

#[tokio::test]
async fn a_burst_that_leaves_no_time_to_clear_instances_finds_slots() {
    for slots in [1, 2, 3, 16] {
        let evaluator = remembers(slots);
        for _ in 0..100 {
            assert!(allows(&evaluator).await, "{slots}");
        }
    }
}

#[test]
fn instances_are_cleared_outside_of_a_runtime_too() {
    let evaluator = remembers(2);
    for _ in 0..100 {
        let evaluation = evaluator.evaluate_here(&facts(), &call());
        assert_eq!(evaluation.outcome, Ok(Answer::Verdict(Verdict::allow())));
    }
}

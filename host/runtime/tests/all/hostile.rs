//! Guests that misbehave end as the fault that says how, and harm no later evaluation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_gates::{Evaluate, Fault, Isolation};
use portcullis_model::{Answer, Decision, Subject, Verdict};
use portcullis_runtime::{Budget, Evaluator, LoadError, StartError, StartKind};

use crate::guest::{call, call_with, component, component_of, evaluator, facts, load, loader, result, settings};

/// Evaluates twice: a guest that broke must not have broken the next evaluation, nor that of another policy.
async fn fault_of(name: &str, subject: Subject) -> Fault {
    let loader = loader();
    let load = |wasm: Vec<u8>| {
        loader.load(&wasm, &settings(), &[], &Budget::DEFAULT).unwrap().evaluator(Budget::DEFAULT, Isolation::Fresh)
    };
    let (hostile, honest) = (load(component(name)), load(component_of("")));
    let first = hostile.evaluate(&facts(), &subject).await.outcome.unwrap_err();
    assert_eq!(honest.evaluate(&facts(), &call()).await.outcome, Ok(Answer::Verdict(Verdict::allow())));
    let second = hostile.evaluate(&facts(), &subject).await.outcome.unwrap_err();
    assert_eq!(first.code(), second.code());
    first
}

async fn allows(evaluator: &Evaluator) -> bool {
    let evaluation = evaluator.evaluate(&facts(), &call()).await;
    matches!(evaluation.outcome, Ok(Answer::Verdict(Verdict { decision: Decision::Allow, .. })))
}

#[tokio::test]
async fn an_honest_guest_starts_from_a_snapshot_and_answers() {
    let loaded = load(&component_of(""));
    assert_eq!(loaded.start, StartKind::Snapshot);
    assert_eq!(loaded.description.name.as_str(), "guest");
    assert_eq!(loaded.gates(), [portcullis_model::GateName::Call]);
    let evaluator = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
    let evaluation = evaluator.evaluate(&facts(), &call()).await;
    assert_eq!(evaluation.outcome, Ok(Answer::Verdict(Verdict::allow())));
    assert!(evaluation.cost.memory >= 65_536);
}

#[tokio::test]
async fn an_endless_loop_meets_its_deadline() {
    let before = Instant::now();
    let fault = fault_of("endless", call()).await;
    // Of CPU time, or where the machine is busy with other things, of wall time.
    let limits = [Duration::from_millis(250), Duration::from_secs(1)];
    assert!(matches!(fault, Fault::Deadline { limit } if limits.contains(&limit)), "{fault:?}");
    assert!(before.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_memory_hog_meets_its_budget() {
    assert_eq!(fault_of("memory-hog", call()).await, Fault::Memory { limit: Budget::DEFAULT.memory });
}

#[tokio::test]
async fn a_trap_is_a_fault() {
    assert!(matches!(fault_of("trap", call()).await, Fault::Trap(why) if why.contains("unreachable")));
}

#[tokio::test]
async fn a_stack_overflow_is_a_fault() {
    assert!(matches!(fault_of("stack-overflow", call()).await, Fault::Trap(why) if why.contains("stack")));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    assert_eq!(fault_of("huge-output", call()).await, Fault::Output);
}

#[tokio::test]
async fn answers_that_are_no_values_are_malformed() {
    for guest in ["bad-utf8", "bad-pointer", "bad-decision", "no-question", "bad-code", "bad-extensions"] {
        let fault = fault_of(guest, call()).await;
        assert!(matches!(fault, Fault::Malformed(_) | Fault::Trap(_)), "{guest}: {fault:?}");
        assert_ne!(fault, Fault::Output, "{guest}");
    }
}

#[tokio::test]
async fn spans_that_do_not_fit_the_subject_are_malformed() {
    for guest in ["bad-span", "cut-character"] {
        let fault = fault_of(guest, result()).await;
        assert!(matches!(&fault, Fault::Malformed(why) if why.contains("span")), "{guest}: {fault:?}");
    }
}

#[tokio::test]
async fn a_flood_of_log_lines_harms_nobody() {
    // It is the lines that are looked at here, not the time that a busy machine takes for them.
    let budget = Budget { cpu: Duration::from_secs(10), ..Budget::DEFAULT };
    assert!(allows(&load(&component("log-flood")).evaluator(budget, Isolation::Fresh)).await);
}

#[tokio::test]
async fn a_policy_that_needs_no_payload_is_handed_none() {
    assert!(allows(&evaluator("no-payload")).await);
    let told = component_of(
        &std::fs::read_to_string(crate::guest::path("no-payload")).unwrap().replace(r#""\00")"#, r#""\01")"#),
    );
    assert!(!allows(&load(&told).evaluator(Budget::DEFAULT, Isolation::Fresh)).await);
}

#[tokio::test]
async fn a_fresh_instance_remembers_nothing() {
    let evaluator = evaluator("remembers");
    for _ in 0..40 {
        assert!(allows(&evaluator).await);
    }
    assert!(becomes_inline(&evaluator).await);
}

/// Evaluates small subjects until they are judged in place. One that a busy machine made slow takes a hundred others; the
/// bound is too small for thirty.
async fn becomes_inline(evaluator: &Evaluator) -> bool {
    for _ in 0..500 {
        if evaluator.is_inline() {
            return true;
        }
        assert!(allows(evaluator).await);
    }
    false
}

#[tokio::test]
async fn only_the_operator_makes_instances_remember() {
    let evaluator = load(&component("remembers")).evaluator(Budget::DEFAULT, Isolation::Reuse);
    assert!(allows(&evaluator).await);
    assert!(!allows(&evaluator).await);
}

#[tokio::test]
async fn a_snapshot_holds_what_configure_did_and_start_functions_do_not_run_again() {
    let loaded = load(&component("configured"));
    assert_eq!(loaded.start, StartKind::Snapshot);
    let evaluator = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
    assert!(allows(&evaluator).await);
    assert!(allows(&evaluator).await);
}

#[test]
fn a_policy_of_another_line_is_refused_with_the_lines_that_there_are() {
    let mut wasm = component_of("");
    let positions: Vec<_> = (0..wasm.len()).filter(|at| wasm[*at..].starts_with(b"@0.1.0")).collect();
    for position in positions {
        wasm[position + 3] = b'9';
    }
    let error = loader().load(&wasm, &settings(), &[], &Budget::DEFAULT).unwrap_err();
    let LoadError::Inspect(refused) = error else { panic!("{error:?}") };
    assert!(refused.to_string().contains("supported: portcullis:policy@0.1"), "{refused}");
}

#[test]
fn a_policy_that_never_gets_configured_is_not_loaded() {
    let budget = Budget { cpu: Duration::from_millis(5), ..Budget::DEFAULT };
    let error = loader().load(&component("endless-configure"), &settings(), &[], &budget).unwrap_err();
    assert!(matches!(&error, LoadError::Start(StartError::Fault { fault: Fault::Deadline { .. }, .. })), "{error:?}");
}

#[test]
fn a_policy_that_runs_for_longer_than_the_ticker_stays_awake_is_stopped_all_the_same() {
    // Twenty times this, to configure: the ticker sleeps after two seconds without a further guest.
    let budget = Budget { cpu: Duration::from_millis(125), ..Budget::DEFAULT };
    let error = loader().load(&component("endless-configure"), &settings(), &[], &budget).unwrap_err();
    assert!(matches!(&error, LoadError::Start(StartError::Fault { fault: Fault::Deadline { .. }, .. })), "{error:?}");
}

#[test]
fn a_policy_that_refuses_its_settings_says_where_and_why() {
    let error = loader().load(&component("refuses-settings"), &settings(), &[], &Budget::DEFAULT).unwrap_err();
    let LoadError::Start(StartError::Configure(refused)) = &error else { panic!("{error:?}") };
    assert_eq!((refused.place.as_str(), refused.message.as_str()), ("/mode", "no\u{1b}t know"));
    // What a policy says reaches a terminal: its control characters do not.
    assert_eq!(refused.to_string(), r"no\u{1b}t know at `/mode`");
}

#[tokio::test]
async fn a_large_subject_is_judged_on_the_pool_with_more_time() {
    let evaluator = evaluator("remembers");
    let text = "x".repeat(1024 * 1024);
    let evaluation = evaluator.evaluate(&facts(), &call_with(&text)).await;
    assert_eq!(evaluation.outcome, Ok(Answer::Verdict(Verdict::allow())));
    assert!(evaluation.cost.memory > 1024 * 1024);
}

#[tokio::test]
async fn large_subjects_do_not_make_a_policy_slow_for_small_ones() {
    let evaluator = evaluator("remembers");
    let large = call_with(&"x".repeat(3 * 1024 * 1024));
    for _ in 0..30 {
        assert!(allows(&evaluator).await);
        evaluator.evaluate(&facts(), &large).await.outcome.unwrap();
    }
    assert!(becomes_inline(&evaluator).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_is_a_fault_and_nobody_waits_for_ever() {
    let budget = Budget { cpu: Duration::from_millis(40), ..Budget::DEFAULT };
    let evaluator = Arc::new(load(&component("endless")).evaluator(budget, Isolation::Fresh));
    let waiting: Vec<_> = (0..40)
        .map(|_| {
            let evaluator = Arc::clone(&evaluator);
            tokio::spawn(async move { evaluator.evaluate(&facts(), &call()).await.outcome.unwrap_err() })
        })
        .collect();
    let mut full = 0;
    for evaluation in waiting {
        let fault = evaluation.await.unwrap();
        if fault == Fault::QueueFull {
            full += 1;
        } else {
            assert!(matches!(fault, Fault::Deadline { .. }), "{fault:?}");
        }
    }
    // Two run, sixteen wait.
    assert!(full >= 20, "{full}");
}

//! Times of passages and evaluations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portcullis_gates::{Evaluate, EvaluationFuture, Isolation};
use portcullis_model::{Facts, Subject};
use portcullis_runtime::{Budget, Evaluator, Loaded};

use super::load::Loads;
use crate::probe::{Passing, Probe};
use crate::{Exit, Failure, passages};

/// Evaluations that are kept; further ones are only counted.
const MOST_KEPT: usize = 1_000_000;

/// What was measured of one module.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// The policy.
    pub(super) name: String,
    /// Wall times of passages, sorted.
    pub(super) whole: Vec<Duration>,
    /// Wall times of evaluations, sorted.
    pub(super) evaluations: Vec<Duration>,
    pub(super) passages: usize,
    pub(super) broken: usize,
    pub(super) memory: u64,
    pub(super) elapsed: Duration,
    /// Evaluations a second.
    pub(super) one_core: f64,
    /// The same on two threads.
    pub(super) two_cores: f64,
    pub(super) loads: Loads,
}

/// Lets the document pass over and over.
pub(super) async fn measure(probe: &Probe, passing: &Passing, wanted: Duration) -> Result<Measured, Failure> {
    let mut measured = Measured::default();
    let begin = Instant::now();
    while begin.elapsed() < wanted {
        let start = Instant::now();
        let passed = probe.pass(passing).await?;
        let whole = start.elapsed();
        measured.passages += 1;
        if measured.evaluations.len() >= MOST_KEPT {
            continue;
        }
        measured.whole.push(whole);
        for record in &passed.records {
            measured.broken += usize::from(passages::is_broken(record));
            for policy in &record.policies {
                measured.evaluations.push(policy.cost.wall);
                measured.memory = measured.memory.max(policy.cost.memory);
            }
        }
    }
    measured.elapsed = begin.elapsed();
    measured.whole.sort_unstable();
    measured.evaluations.sort_unstable();
    Ok(measured)
}

/// What was asked of a policy last.
type Asked = Arc<Mutex<Option<(Facts, Subject)>>>;

/// Judges, and remembers what it was asked.
#[derive(Debug)]
struct Capturing {
    inner: Evaluator,
    asked: Asked,
}

impl Evaluate for Capturing {
    fn evaluate<'a>(&'a self, facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a> {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some((facts.clone(), subject.clone()));
        self.inner.evaluate(facts, subject)
    }
}

/// Returns what the gate makes of the document for the policy, and an evaluator of its own.
pub(super) async fn captured(loaded: &Loaded, passing: &Passing) -> Result<(Evaluator, Facts, Subject), Failure> {
    let asked = Asked::default();
    let inner = loaded.evaluator(Budget::DEFAULT, Isolation::Fresh);
    let mut active = crate::probe::active(loaded);
    active.evaluator = Arc::new(Capturing { inner, asked: Arc::clone(&asked) });
    Probe::of(active)?.pass(passing).await?;
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (facts, subject) = asked.ok_or_else(|| Failure::new(Exit::Internal, "the policy was not asked"))?;
    Ok((loaded.evaluator(Budget::DEFAULT, Isolation::Fresh), facts, subject))
}

/// Returns how many evaluations a second so many threads make together.
#[expect(clippy::cast_precision_loss, reason = "a rate for people; counts of a few seconds are far from 2^52")]
pub(super) fn rate(evaluator: &Evaluator, facts: &Facts, subject: &Subject, threads: usize, wanted: Duration) -> f64 {
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let count: u64 = std::thread::scope(|scope| {
        let judge = || {
            let mut count = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                drop(evaluator.evaluate_here(facts, subject));
                count += 1;
            }
            count
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(judge)).collect();
        std::thread::sleep(wanted);
        stop.store(true, Ordering::Relaxed);
        running.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
    });
    count as f64 / began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Returns the time below which so many hundredths of all are.
pub(super) fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    let index = sorted.len().saturating_sub(1) * hundredths / 100;
    sorted.get(index).copied().unwrap_or_default()
}

//! The port of the gates, implemented: where an evaluation runs, on which instance, and what it costs.

use std::fmt;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use portcullis_gates::{Cost, Evaluate, Evaluation, EvaluationFuture, Fault, Isolation};
use portcullis_model::{Answer, Facts, PolicyName, Subject};
use tokio::sync::oneshot;

use crate::access::Access;
use crate::budget::Budget;
use crate::engine::Engine;
use crate::fault;
use crate::latency::Latency;
use crate::state::Purpose;
use crate::template::{Configuration, Live, StartError, Template};

mod answers;
mod instances;

use answers::Answers;
use instances::Instances;

/// Larger subjects are never judged in place: even a fast policy takes a millisecond for so much text.
const LARGEST_INLINE: usize = 64 * 1024;

/// Evaluations of one policy that wait or run on the pool. A quarter of the default queue: no policy fills it alone.
const MOST_WAITING: usize = 64;

/// One policy, ready to judge.
pub struct Evaluator {
    core: Arc<Core>,
}

pub(crate) struct Core {
    engine: Engine,
    name: PolicyName,
    template: Arc<Template>,
    /// What each instance still has to be configured with; nothing where it starts from a snapshot.
    configuration: Option<Arc<Configuration>>,
    payload: bool,
    access: Access,
    budget: Budget,
    instances: Instances,
    /// Present where answers may be given again: the arguments of a call are left out, and nothing outlives an evaluation.
    answers: Option<Answers>,
    latency: Latency,
    waiting: AtomicUsize,
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Evaluator")
            .field("policy", &self.core.name)
            .field("budget", &self.core.budget)
            .finish_non_exhaustive()
    }
}

impl Evaluator {
    #[expect(clippy::too_many_arguments, reason = "the parts of one loaded policy, and how the operator applies it")]
    pub(crate) fn new(
        engine: Engine,
        name: PolicyName,
        template: Arc<Template>,
        configuration: Option<Arc<Configuration>>,
        payload: bool,
        access: Access,
        budget: Budget,
        isolation: Isolation,
    ) -> Self {
        let core = Arc::new(Core {
            engine,
            name,
            template,
            configuration,
            payload,
            budget,
            instances: Instances::new(isolation),
            answers: (!payload && isolation == Isolation::Fresh && !access.is_outside()).then(Answers::default),
            access,
            latency: Latency::default(),
            waiting: AtomicUsize::new(0),
        });
        core.prepare();
        Self { core }
    }

    /// Judges on this thread, whatever the subject: for tools and measurements, not for a thread of an async runtime.
    pub fn evaluate_here(&self, facts: &Facts, subject: &Subject) -> Evaluation {
        let evaluation = self.core.judge(facts, subject, true);
        self.core.tidy();
        self.core.prepare();
        evaluation
    }

    /// Returns true where the next small subject would be judged in place.
    pub fn is_inline(&self) -> bool {
        self.core.can_run_inline(0)
    }

    /// Judges in place, where that is allowed and an answer is not known already.
    fn at_once(&self, facts: &Facts, subject: &Subject) -> Option<Evaluation> {
        if let Some(evaluation) = self.core.recall(facts, subject) {
            return Some(evaluation);
        }
        if !self.core.can_run_inline(subject.text_bytes()) {
            return None;
        }
        let evaluation = self.core.judge(facts, subject, false);
        // No slot was free at once; the pool may wait for one.
        if matches!(evaluation.outcome, Err(Fault::QueueFull)) {
            return None;
        }
        self.core.tidy_later();
        self.core.prepare();
        Some(evaluation)
    }

    fn on_pool(&self, facts: &Facts, subject: Arc<Subject>) -> EvaluationFuture<'static> {
        let submitted = Instant::now();
        let Some(place) = Place::take(&self.core) else {
            return Box::pin(ready(failed(Fault::QueueFull, submitted)));
        };
        let facts = facts.clone();
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            // Whoever asked may be gone by now: then nobody needs the answer.
            if sender.is_closed() {
                return;
            }
            let mut evaluation = place.core.judge(&facts, &subject, true);
            evaluation.cost.wall = submitted.elapsed();
            place.core.prepare();
            let core = Arc::clone(&place.core);
            // Whoever asked wants the subject back.
            drop((place, subject));
            drop(sender.send(evaluation));
            core.tidy();
        };
        let workers = if self.core.access.is_outside() {
            self.core.engine.waiting_workers()
        } else {
            Some(self.core.engine.workers())
        };
        if workers.is_none_or(|workers| workers.submit(Box::new(job)).is_err()) {
            return Box::pin(ready(failed(Fault::QueueFull, submitted)));
        }
        Box::pin(async move {
            receiver.await.unwrap_or_else(|_| failed(Fault::Trap("the evaluation was lost".to_owned()), submitted))
        })
    }
}

impl Evaluate for Evaluator {
    fn evaluate<'a>(&'a self, facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a> {
        match self.at_once(facts, subject) {
            Some(evaluation) => Box::pin(ready(evaluation)),
            None => self.on_pool(facts, Arc::new(subject.clone())),
        }
    }

    fn evaluate_shared<'a>(&'a self, facts: &'a Facts, subject: &'a Arc<Subject>) -> EvaluationFuture<'a> {
        match self.at_once(facts, subject) {
            Some(evaluation) => Box::pin(ready(evaluation)),
            None => self.on_pool(facts, Arc::clone(subject)),
        }
    }

    fn evaluate_aside<'a>(&'a self, facts: &'a Facts, subject: &'a Arc<Subject>) -> EvaluationFuture<'a> {
        self.on_pool(facts, Arc::clone(subject))
    }

    fn is_pure(&self) -> bool {
        !self.core.access.is_outside()
    }
}

fn failed(fault: Fault, since: Instant) -> Evaluation {
    Evaluation { outcome: Err(fault), cost: Cost { wall: since.elapsed(), cpu: Duration::ZERO, memory: 0 } }
}

/// A place among the waiting evaluations of a policy.
struct Place {
    core: Arc<Core>,
}

impl Place {
    fn take(core: &Arc<Core>) -> Option<Self> {
        if core.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            core.waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Self { core: Arc::clone(core) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.core.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Core {
    fn can_run_inline(&self, text_bytes: usize) -> bool {
        text_bytes <= LARGEST_INLINE
            && self.latency.is_fast()
            // Functions of a WASI start a runtime of their own, which must not happen inside of one.
            && !self.template.has_wasi()
            && (self.configuration.is_none() || self.instances.has_one())
    }

    /// Returns the answer that was given before, where that is as good as a new one.
    fn recall(&self, facts: &Facts, subject: &Subject) -> Option<Evaluation> {
        let started = Instant::now();
        let answer = self.answers.as_ref()?.recall(facts, subject)?;
        let wall = started.elapsed();
        Some(Evaluation { outcome: Ok(answer), cost: Cost { wall, cpu: wall, memory: 0 } })
    }

    fn judge(&self, facts: &Facts, subject: &Subject, wait: bool) -> Evaluation {
        let started = Instant::now();
        catch_unwind(AssertUnwindSafe(|| self.judge_once(facts, subject, wait, started)))
            .unwrap_or_else(|_| failed(Fault::Trap("the host panicked while evaluating".to_owned()), started))
    }

    fn judge_once(&self, facts: &Facts, subject: &Subject, wait: bool, started: Instant) -> Evaluation {
        let text_bytes = subject.text_bytes();
        let mut allowance = self.budget.allowance(text_bytes);
        // Whoever waits for the network does not work meanwhile.
        allowance.wall = allowance.wall.saturating_add(self.access.patience());
        let measured = self.latency.wants_sample();
        let client = self.access.client();
        let purpose = Purpose { policy: Some(&self.name), configuring: false, allowance, measured, client };
        let masked = self.access.masked(subject);
        let subject = masked.as_ref().unwrap_or(subject);
        let mut live = match self.instance(purpose, wait) {
            Ok(live) => live,
            Err(fault) => return failed(fault, started),
        };
        let answer = live.evaluate(facts, subject, self.payload && self.access.shows_payload(subject));
        let state = live.store.data();
        let cpu = state.deadline.cpu();
        // What runs on the pool anyway says nothing about what may run in place.
        if let Some(cpu) = cpu.filter(|_| text_bytes <= LARGEST_INLINE) {
            self.latency.record(cpu);
        }
        let wall = started.elapsed();
        // What is not measured took less than its wall time, which took less than a tick.
        let cost = Cost { wall, cpu: cpu.unwrap_or(wall), memory: state.limits.used() };
        let outcome = self.conclude(answer, live, facts, subject);
        Evaluation { outcome, cost }
    }

    /// Keeps the instance where it may be used again; one that broke is never.
    fn conclude(
        &self,
        answer: Result<Answer, portcullis_bindings::CallError>,
        live: Live,
        facts: &Facts,
        subject: &Subject,
    ) -> Result<Answer, Fault> {
        match answer {
            Ok(answer) => {
                self.instances.give_back(live, self.engine.slots().are_plenty());
                if let Some(answers) = &self.answers {
                    answers.keep(facts, subject, &answer);
                }
                Ok(answer)
            }
            Err(error) => Err(fault::of_call(&error)),
        }
    }

    /// Returns an instance whose call has started.
    fn instance(&self, purpose: Purpose<'_>, wait: bool) -> Result<Live, Fault> {
        let mut live = match (self.instances.take(), &self.configuration) {
            (Some(live), _) => live,
            (None, Some(configuration)) => self.configured(configuration)?,
            (None, None) => return self.template.instantiate(&self.budget, purpose, wait),
        };
        live.store.data_mut().begin(purpose);
        Ok(live)
    }

    fn configured(&self, configuration: &Configuration) -> Result<Live, Fault> {
        self.template.configured(Some(&self.name), &self.budget, configuration).map_err(|error| {
            if let StartError::Fault { fault, .. } = error { fault } else { Fault::Instantiate(error.to_string()) }
        })
    }
}

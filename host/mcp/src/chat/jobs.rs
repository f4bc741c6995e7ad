//! Questions that are answered later.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use portcullis_model::json::Value;
use portcullis_model::{Principal, object};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Jobs of all and of one principal: nobody alone can fill a desk.
const MOST: usize = 1_000;
const MOST_OF_ONE: usize = 250;
/// All answers of a desk together. Each is up to 1 MiB.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// An answer is kept for so long.
const AGE: Duration = Duration::from_hours(24);

/// Where a job is. The last three are for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// All jobs of a desk, by their ids.
#[derive(Debug, Default)]
pub(super) struct Jobs(HashMap<String, Job>);

#[derive(Debug)]
struct Job {
    principal: Principal,
    state: State,
    session: Option<String>,
    created: SystemTime,
    prompt_chars: usize,
    finished: Option<(SystemTime, Instant)>,
    result: Option<String>,
    error: Option<String>,
    task: Option<AbortHandle>,
}

/// There is no room for a job.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many jobs are kept; ask for what became of yours, or forget them by `reset`")]
pub(super) struct TooManyJobs;

impl Jobs {
    fn clean(&mut self) {
        let now = Instant::now();
        self.0.retain(|_, job| job.finished.is_none_or(|(_, finished)| now.duration_since(finished) < AGE));
    }

    /// Enters a job and returns its id, which nobody can guess.
    pub(super) fn enter(
        &mut self,
        principal: &Principal,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<String, TooManyJobs> {
        self.clean();
        let own = self.0.values().filter(|job| job.principal == *principal).count();
        if self.0.len() >= MOST || own >= MOST_OF_ONE {
            return Err(TooManyJobs);
        }
        let mut bytes = [0; 16];
        // Without randomness an id could be guessed, and there is no job.
        getrandom::fill(&mut bytes).map_err(|_| TooManyJobs)?;
        let id = format!("{:032x}", u128::from_be_bytes(bytes));
        let job = Job {
            principal: principal.clone(),
            state: State::Pending,
            session: session.map(str::to_owned),
            created: SystemTime::now(),
            prompt_chars: prompt.chars().count(),
            finished: None,
            result: None,
            error: None,
            task: None,
        };
        self.0.insert(id.clone(), job);
        Ok(id)
    }

    /// Notes the task that works on a job, so that it can be ended.
    pub(super) fn attach(&mut self, id: &str, task: AbortHandle) {
        match self.0.get_mut(id) {
            Some(job) if !job.state.is_over() => job.task = Some(task),
            // It was cancelled or forgotten before.
            Some(_) | None => task.abort(),
        }
    }

    /// Notes that a job has its turn.
    pub(super) fn start(&mut self, id: &str) {
        if let Some(job) = self.0.get_mut(id).filter(|job| job.state == State::Pending) {
            job.state = State::Running;
        }
    }

    /// Notes what came of a job, unless it is over already.
    pub(super) fn finish(&mut self, id: &str, outcome: Result<String, String>) {
        let kept: usize = self.0.values().map(|job| job.result.as_ref().map_or(0, String::len)).sum();
        if let Some(job) = self.0.get_mut(id) {
            match outcome {
                Ok(answer) if kept + answer.len() > MOST_BYTES => {
                    let text =
                        "the answer came and there is no room for it: forget other jobs by `reset`, and ask again";
                    job.end(State::Failed, None, Some(text.to_owned()));
                }
                Ok(answer) => job.end(State::Completed, Some(answer), None),
                Err(error) => job.end(State::Failed, None, Some(error)),
            }
        }
    }

    /// Ends a job of a principal and breaks off its exchange.
    pub(super) fn cancel(&mut self, principal: &Principal, id: &str) {
        if let Some(job) = self.0.get_mut(id).filter(|job| job.principal == *principal) {
            job.end(State::Cancelled, None, None);
        }
    }

    /// Tells what became of a job. One of another principal is as unknown as one that never was.
    pub(super) fn tell(&mut self, principal: &Principal, id: &str) -> Value {
        self.clean();
        let Some(job) = self.0.get(id).filter(|job| job.principal == *principal) else {
            return object! { "job_id" => id, "status" => "unknown" }.into();
        };
        let mut told = object! {
            "job_id" => id,
            "status" => job.state.as_str(),
            "created_at" => seconds(job.created),
            "prompt_chars" => job.prompt_chars as u64,
        };
        let mut optional = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                told.insert(key, value);
            }
        };
        optional("session_id", job.session.as_deref().map(Value::from));
        optional("finished_at", job.finished.map(|(at, _)| seconds(at).into()));
        optional("result", job.result.as_deref().map(Value::from));
        optional("error", job.error.as_deref().map(Value::from));
        told.into()
    }

    /// Forgets the jobs of a principal; those that run are ended. Returns how many of each state there were.
    pub(super) fn forget(&mut self, principal: &Principal) -> BTreeMap<State, u64> {
        self.clean();
        let mut counts = BTreeMap::new();
        self.0.retain(|_, job| {
            if job.principal != *principal {
                return true;
            }
            *counts.entry(job.state).or_default() += 1;
            job.end(State::Cancelled, None, None);
            false
        });
        counts
    }

    /// Ends all jobs.
    pub(super) fn abort_all(&mut self) {
        self.0.values_mut().for_each(|job| job.end(State::Cancelled, None, None));
    }
}

impl Job {
    /// What is over stays as it is: a late answer changes nothing.
    fn end(&mut self, state: State, result: Option<String>, error: Option<String>) {
        if self.state.is_over() {
            return;
        }
        (self.state, self.result, self.error) = (state, result, error);
        self.finished = Some((SystemTime::now(), Instant::now()));
        if let Some(task) = self.task.take().filter(|_| state == State::Cancelled) {
            task.abort();
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

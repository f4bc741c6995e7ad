//! Where modules are compiled: one at a time, never on a thread that carries messages.
//!
//! Until the first set of policies is there everything waits for it, so the thread has normal priority; from then on
//! there are messages to carry, and it gives way to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

/// Modules that wait to be compiled. A start compiles a bundle; more than this at once is not a use but an accident.
const MOST_WAITING: usize = 256;

/// How much the thread gives way to others, of 19: it still gets a third of what a busy thread gets, since a new pack is
/// dropped in a hurry.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// The compile thread. It ends with the last handle.
#[derive(Clone, Debug)]
pub(crate) struct CompileThread {
    sender: Arc<Mutex<SyncSender<Job>>>,
    gives_way: Arc<AtomicBool>,
}

/// The compile thread is gone or gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the compile thread is gone")]
pub struct CompileThreadGone;

impl CompileThread {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let gives_way = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&gives_way);
        std::thread::Builder::new()
            .name("policy-compile".to_owned())
            // Compilers recurse; the default of 2 MiB is what they are tested with, twice that what we give.
            .stack_size(4 * 1024 * 1024)
            .spawn(move || run(&receiver, &told))?;
        Ok(Self { sender: Arc::new(Mutex::new(sender)), gives_way })
    }

    /// Lets what is compiled from now on give way to everything else. There is no way back: raising a priority takes a
    /// privilege.
    pub(crate) fn give_way(&self) {
        self.gives_way.store(true, Ordering::Release);
    }

    /// Runs a job there and waits for it. A panic of the job is its answer's absence.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, CompileThreadGone> {
        let (answer, answered) = sync_channel(1);
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let job = Box::new(move || drop(answer.send(job())));
        sender.send(job).map_err(|_| CompileThreadGone)?;
        answered.recv().map_err(|_| CompileThreadGone)
    }
}

fn run(receiver: &Receiver<Job>, gives_way: &AtomicBool) {
    let mut lowered = false;
    while let Ok(job) = receiver.recv() {
        if !lowered && gives_way.load(Ordering::Acquire) {
            lower_priority();
            lowered = true;
        }
        drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
    }
}

/// Lowers the priority of this thread. On Linux it is a property of the thread; elsewhere of the whole process, which
/// must not be touched.
#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE) {
        tracing::debug!(%error, "the compile thread runs at normal priority");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_run_one_after_another_and_answer() {
        let thread = CompileThread::start().unwrap();
        assert_eq!(thread.run(|| 1 + 1), Ok(2));
        assert_eq!(thread.run(|| "text"), Ok("text"));
    }

    #[test]
    fn a_job_that_panics_is_reported_and_the_next_one_runs() {
        let thread = CompileThread::start().unwrap();
        assert_eq!(thread.run(|| panic!("on purpose")), Err::<(), _>(CompileThreadGone));
        assert_eq!(thread.run(|| 5), Ok(5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn compiling_gives_way_once_there_is_something_to_give_way_to() {
        let thread = CompileThread::start().unwrap();
        let priority = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap();
        let own = priority();
        assert_eq!(thread.run(priority), Ok(own));
        thread.give_way();
        assert_eq!(thread.run(priority), Ok(NICE.max(own)));
        assert_eq!(priority(), own);
    }
}

//! Threads for evaluations that are too large or too slow to run in place.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

/// A bounded pool of threads. They end when it is dropped, after what they are at.
#[derive(Debug)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    most: usize,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("most", &self.most).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Workers {
    /// Starts the threads, at least one: without any no job would ever end.
    pub(crate) fn new(threads: usize, most: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), arrived: Condvar::new(), most });
        let workers = Self { shared };
        for number in 0..threads.max(1) {
            let shared = Arc::clone(&workers.shared);
            std::thread::Builder::new().name(format!("policy-{number}")).spawn(move || work(&shared))?;
        }
        Ok(workers)
    }

    /// Queues a job, or gives up where the queue is full.
    pub(crate) fn submit(&self, job: Job) -> Result<(), QueueFull> {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.jobs.len() >= self.shared.most {
            return Err(QueueFull);
        }
        queue.jobs.push_back(job);
        self.shared.arrived.notify_one();
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.arrived.notify_all();
    }
}

/// The queue holds as much as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

fn work(shared: &Shared) {
    while let Some(job) = next(shared) {
        // A job that panics drops its answer, which its caller sees; the thread lives on.
        drop(catch_unwind(AssertUnwindSafe(job)));
    }
}

fn next(shared: &Shared) -> Option<Job> {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            return Some(job);
        }
        if queue.closed {
            return None;
        }
        queue = shared.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_full_queue_refuses_at_once() {
        let workers = Workers::new(1, 1).unwrap();
        let (release, held) = mpsc::channel::<()>();
        let (started, running) = mpsc::channel::<()>();
        let first = workers.submit(Box::new(move || {
            started.send(()).unwrap();
            held.recv().unwrap();
        }));
        first.unwrap();
        running.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(workers.submit(Box::new(|| {})), Ok(()));
        assert_eq!(workers.submit(Box::new(|| {})), Err(QueueFull));
        release.send(()).unwrap();
    }

    #[test]
    fn a_job_that_panics_does_not_take_the_thread_with_it() {
        let workers = Workers::new(1, 8).unwrap();
        workers.submit(Box::new(|| panic!("on purpose"))).unwrap();
        let (done, seen) = mpsc::channel();
        workers.submit(Box::new(move || done.send(()).unwrap())).unwrap();
        assert!(seen.recv_timeout(Duration::from_secs(5)).is_ok());
    }
}

//! The thread that lets epochs pass.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use wasmtime::EngineWeak;

/// How often guests are interrupted to look at their deadline. Deadlines are hundreds of milliseconds.
const TICK: Duration = Duration::from_millis(10);

/// After so many ticks without a guest the thread sleeps until there is one: an idle gateway wakes no processor.
const IDLE_TICKS: u32 = 200;

/// Increments the epochs of its engines while guests run. The thread holds them weakly and ends by itself.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Ticks that may still pass before the thread goes to sleep.
    left: AtomicU32,
    asleep: AtomicBool,
    /// True once the ticker is gone.
    closed: Mutex<bool>,
    wake: Condvar,
}

impl Ticker {
    /// Starts the thread. Without it no deadline would ever be met, so nothing may run.
    pub(super) fn start(engines: &[&wasmtime::Engine]) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            left: AtomicU32::new(IDLE_TICKS),
            asleep: AtomicBool::new(false),
            closed: Mutex::new(false),
            wake: Condvar::new(),
        });
        let engines: Vec<_> = engines.iter().map(|engine| engine.weak()).collect();
        let watched = Arc::downgrade(&shared);
        std::thread::Builder::new().name("policy-ticker".to_owned()).spawn(move || run(&engines, &watched))?;
        Ok(Self { shared })
    }

    /// Makes sure that epochs pass from now on.
    pub(super) fn awake(&self) {
        self.shared.left.store(IDLE_TICKS, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            let _closed = self.shared.closed.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.wake.notify_one();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.shared.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_one();
    }
}

fn run(engines: &[EngineWeak], watched: &Weak<Shared>) {
    loop {
        std::thread::sleep(TICK);
        let Some(shared) = watched.upgrade() else {
            return;
        };
        for engine in engines {
            let Some(engine) = engine.upgrade() else {
                return;
            };
            engine.increment_epoch();
        }
        if shared.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            sleep(&shared);
        }
    }
}

/// Sleeps until a guest is about to run, or the ticker is gone.
fn sleep(shared: &Shared) {
    shared.asleep.store(true, Ordering::SeqCst);
    let closed = shared.closed.lock().unwrap_or_else(PoisonError::into_inner);
    // Whoever started a guest before `asleep` was visible has stored its ticks by now.
    let idle = |closed: &mut bool| !*closed && shared.left.load(Ordering::SeqCst) == 0;
    drop(shared.wake.wait_while(closed, idle));
    shared.asleep.store(false, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn engine() -> wasmtime::Engine {
        wasmtime::Engine::new(wasmtime::Config::new().epoch_interruption(true)).unwrap()
    }

    fn until(condition: impl Fn() -> bool) {
        let before = Instant::now();
        while !condition() {
            assert!(before.elapsed() < Duration::from_secs(20));
            std::thread::sleep(TICK);
        }
    }

    #[test]
    fn an_idle_ticker_sleeps_wakes_for_a_guest_and_ends_with_its_engine() {
        let engine = engine();
        let ticker = Ticker::start(&[&engine]).unwrap();
        ticker.shared.left.store(0, Ordering::SeqCst);
        until(|| ticker.shared.asleep.load(Ordering::SeqCst));
        ticker.awake();
        until(|| !ticker.shared.asleep.load(Ordering::SeqCst));
        ticker.shared.left.store(0, Ordering::SeqCst);
        until(|| ticker.shared.asleep.load(Ordering::SeqCst));
        let shared = Arc::downgrade(&ticker.shared);
        drop(ticker);
        until(|| shared.strong_count() == 0);
    }
}

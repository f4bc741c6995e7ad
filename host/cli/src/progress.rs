//! What takes long, told on a terminal while it does.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::arguments::Format;

/// Seconds change once a second.
const TICK: Duration = Duration::from_secs(1);

/// A line on a terminal that counts seconds until it is dropped. Scripts and logs are spared it.
pub(crate) struct Progress {
    ticking: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins a step.
    pub(crate) fn start(step: &str, format: Format) -> Self {
        if !io::stderr().is_terminal() || format.json {
            return Self { ticking: None };
        }
        let step = step.to_owned();
        let (sender, receiver) = channel::<()>();
        let tick = move || {
            let begun = Instant::now();
            loop {
                let _unwritable = write!(io::stderr(), "\r{step}… {} s", begun.elapsed().as_secs());
                if receiver.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            let _unwritable = write!(io::stderr(), "\r\x1b[K");
        };
        // Without a thread the work is done all the same, untold.
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(tick).ok();
        Self { ticking: thread.map(|thread| (sender, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.ticking.take() {
            drop(sender);
            drop(thread.join());
        }
    }
}

//! What takes long, told on a terminal while it does.

use std::cell::Cell;
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

/// A bar is drawn this often at most.
const REDRAW: Duration = Duration::from_millis(100);

/// Characters of a full bar.
const WIDTH: usize = 30;

/// A bar on a terminal that shows how many bytes are there. Scripts and logs are spared it.
pub(crate) struct Bar {
    step: &'static str,
    shown: bool,
    drawn: Cell<Option<Instant>>,
}

impl Bar {
    /// Begins a step.
    pub(crate) fn start(step: &'static str, format: Format) -> Self {
        Self { step, shown: io::stderr().is_terminal() && !format.json, drawn: Cell::new(None) }
    }

    /// Shows how many bytes of how many are there.
    pub(crate) fn moved(&self, now: usize, total: usize) {
        let is_early = self.drawn.get().is_some_and(|drawn| drawn.elapsed() < REDRAW);
        if !self.shown || (is_early && now < total) {
            return;
        }
        self.drawn.set(Some(Instant::now()));
        let _unwritable = write!(io::stderr(), "\r{}", line(self.step, now, total));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.drawn.get().is_some() {
            let _unwritable = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(step: &str, now: usize, total: usize) -> String {
    let full = now.saturating_mul(WIDTH).checked_div(total).unwrap_or(WIDTH).min(WIDTH);
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(WIDTH - full));
    format!("{step} [{bar}] {} of {} KiB", now / 1_024, total / 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_as_bytes_come_and_copes_with_none() {
        assert_eq!(line("pulling", 0, 3_072), format!("pulling [{}] 0 of 3 KiB", ".".repeat(30)));
        assert_eq!(line("pulling", 1_024, 3_072), format!("pulling [{}{}] 1 of 3 KiB", "#".repeat(10), ".".repeat(20)));
        assert_eq!(line("pulling", 3_072, 3_072), format!("pulling [{}] 3 of 3 KiB", "#".repeat(30)));
        assert_eq!(line("pulling", 0, 0), format!("pulling [{}] 0 of 0 KiB", "#".repeat(30)));
    }
}

//! Watches the policies folder, and looks again once it has settled.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use notify::{Config, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher as _};
use portcullis_gates::Gates;

use crate::store::PolicyStore;

/// Files of one name settle for so long: a module, its settings and its packs are dropped one after another.
const SETTLE: Duration = Duration::from_millis(500);

/// A folder that never settles is looked at all the same: what is half-written then fails and changes nothing.
const LONGEST_SETTLE: Duration = Duration::from_secs(5);

/// Where the system reports no changes, the folder is compared this often.
const POLL: Duration = Duration::from_secs(1);

/// The folder is looked at this often whatever is reported: reports may be lost, and the folder itself be replaced.
const LOOK_ANYWAY: Duration = Duration::from_mins(1);

/// The folder cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The config names no folder.
    #[error("no policies folder is configured")]
    NoFolder,
    /// The folder does not exist and could not be created.
    #[error("the policies folder could not be created")]
    Create(#[source] std::io::Error),
    /// Neither reports nor polling work.
    #[error("the policies folder could not be watched")]
    Watch(#[source] notify::Error),
    /// The thread could not be started.
    #[error("the watching thread could not be started")]
    Thread(#[source] std::io::Error),
}

/// Watches until it is dropped.
pub struct Watching {
    // Dropped first: its reports end, and with them the thread.
    _watcher: Box<dyn Send>,
    stop: Arc<AtomicBool>,
    wake: SyncSender<()>,
    polling: bool,
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watching").field("polling", &self.polling).finish_non_exhaustive()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        _ = self.wake.try_send(());
    }
}

impl Watching {
    /// Watches the folder of a store and publishes what changes.
    pub fn start(store: Arc<PolicyStore>, gates: Arc<Gates>) -> Result<Self, WatchError> {
        let folder = store.folder().ok_or(WatchError::NoFolder)?;
        create(&folder).map_err(WatchError::Create)?;
        // One place: a second report before the first is taken says nothing new.
        let (wake, woken) = sync_channel(1);
        let (watcher, polling) = watch(&folder, &wake)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("policy-watch".to_owned())
            .spawn(move || {
                // What was dropped between the first look and now.
                store.refresh(&gates);
                while wait(&woken) && !stopped.load(Ordering::Acquire) {
                    store.refresh(&gates);
                }
            })
            .map_err(WatchError::Thread)?;
        Ok(Self { _watcher: watcher, stop, wake, polling })
    }

    /// Returns true where the system reports no changes and the folder is compared instead.
    pub fn is_polling(&self) -> bool {
        self.polling
    }

    /// Looks again soon, whether something changed or not.
    pub fn nudge(&self) {
        _ = self.wake.try_send(());
    }
}

fn create(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn watch(folder: &Path, wake: &SyncSender<()>) -> Result<(Box<dyn Send>, bool), WatchError> {
    let report = |wake: SyncSender<()>| {
        move |event: notify::Result<notify::Event>| {
            // Reading it ourselves is reported too on some systems.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                _ = wake.try_send(());
            }
        }
    };
    let reported = RecommendedWatcher::new(report(wake.clone()), Config::default()).and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    match reported {
        Ok(watcher) => Ok((Box::new(watcher), false)),
        Err(error) => {
            tracing::info!(%error, "changes of the policies folder are not reported; it is compared instead");
            let config = Config::default().with_poll_interval(POLL).with_compare_contents(false);
            let mut watcher = PollWatcher::new(report(wake.clone()), config).map_err(WatchError::Watch)?;
            watcher.watch(folder, RecursiveMode::NonRecursive).map_err(WatchError::Watch)?;
            Ok((Box::new(watcher), true))
        }
    }
}

/// Waits for a report and then for quiet. Returns false once nobody reports any more.
fn wait(woken: &Receiver<()>) -> bool {
    match woken.recv_timeout(LOOK_ANYWAY) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => return true,
        Err(RecvTimeoutError::Disconnected) => return false,
    }
    let until = Instant::now() + LONGEST_SETTLE;
    while Instant::now() < until {
        match woken.recv_timeout(SETTLE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

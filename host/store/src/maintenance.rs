//! The thread that does what makes others wait: patient commits, checkpoints, pruning.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, params};

use crate::commit::Patience;
use crate::group::{Group, lock};
use crate::{Retention, busy, encode};

/// Old records are looked for this often.
const PRUNE_INTERVAL: Duration = Duration::from_mins(1);

/// The log is carried over when nothing was written for this long.
const IDLE: Duration = Duration::from_secs(2);

/// Rows that one step of pruning deletes: well under a millisecond.
const PRUNED_AT_ONCE: i64 = 128;

/// Steps of one round of pruning, so that a first round over an old journal does not go on for minutes.
const MOST_STEPS: usize = 512;

/// A log of this many pages (64 MiB) is started anew even if writers have to wait for the disk once: under
/// uninterrupted writing a passive checkpoint never reaches its end, and the log would grow without bound.
const LONGEST_LOG: i64 = 16_384;

/// How the thread is told what to do.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    commit: bool,
    tidy: bool,
    stop: bool,
}

impl Signal {
    /// Asks for a patient commit of what waits.
    pub(crate) fn commit(&self) {
        self.want(|wanted| wanted.commit = true);
    }

    /// Asks for a checkpoint.
    pub(crate) fn tidy(&self) {
        self.want(|wanted| wanted.tidy = true);
    }

    /// Asks the thread to end.
    pub(crate) fn stop(&self) {
        self.want(|wanted| wanted.stop = true);
    }

    fn want(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut lock(&self.wanted));
        self.changed.notify_one();
    }

    /// Waits until something is asked for; nothing where that was not before the deadline.
    fn wait(&self, deadline: Instant) -> Option<Wanted> {
        let mut wanted = lock(&self.wanted);
        while !(wanted.commit || wanted.tidy || wanted.stop) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            wanted = self.changed.wait_timeout(wanted, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(std::mem::take(&mut *wanted))
    }
}

/// Runs until told to stop. `connection` is the thread's own, for checkpoints.
pub(crate) fn run(group: &Group, mut connection: Connection, retention: Retention) {
    let mut next_prune = Instant::now();
    let (mut carried, mut seen) = (group.commits(), group.commits());
    loop {
        let wanted = group.signal.wait(Instant::now() + IDLE);
        group.lead_patiently();
        if wanted.is_some_and(|wanted| wanted.stop) {
            return;
        }
        if Instant::now() >= next_prune {
            next_prune = Instant::now() + PRUNE_INTERVAL;
            if let Err(error) = prune(group, retention) {
                tracing::warn!(error = &error as &dyn std::error::Error, "old journal records were not pruned");
            }
        }
        let commits = group.commits();
        let idle = wanted.is_none() && commits == seen && commits != carried;
        seen = commits;
        if idle || wanted.is_some_and(|wanted| wanted.tidy) {
            carried = commits;
            if let Err(error) = checkpoint(&mut connection) {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database log was not checkpointed");
            }
        }
    }
}

/// Only the oldest rows are looked at: a condition over the whole journal would read all of it, under the write lock,
/// whenever there is nothing to delete. Ids have no gaps but at the old end, so the newest says how many there are.
pub(crate) const PRUNE: &str = "DELETE FROM journal WHERE id IN (
    SELECT id FROM (SELECT id, at FROM journal ORDER BY id LIMIT ?3)
    WHERE id < (SELECT max(id) FROM journal) AND (id <= (SELECT max(id) FROM journal) - ?1 OR at < ?2))";

/// Deletes what retention no longer wants, in small steps between which callers commit. The newest record stays, so
/// that ids go on counting.
pub(crate) fn prune(group: &Group, retention: Retention) -> rusqlite::Result<()> {
    let oldest = SystemTime::now().checked_sub(retention.age).map_or(i64::MIN, encode::microseconds);
    let records = i64::try_from(retention.records).unwrap_or(i64::MAX);
    for _ in 0..MOST_STEPS {
        let deleted = group.with_writer(|writer| {
            writer.transact(Patience::Little, |connection| {
                connection.prepare_cached(PRUNE)?.execute(params![records, oldest, PRUNED_AT_ONCE])
            })
        })?;
        if i64::try_from(deleted).unwrap_or(i64::MAX) < PRUNED_AT_ONCE {
            break;
        }
        group.lead_patiently();
    }
    Ok(())
}

/// Carries the log over into the database, and starts it anew where it has grown long.
fn checkpoint(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(busy::wait_briefly))?;
    let pages: i64 = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))?;
    if pages > LONGEST_LOG {
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))?;
    }
    Ok(())
}

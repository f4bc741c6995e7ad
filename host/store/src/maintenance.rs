//! The thread that does what makes others wait: moving records into the database, checkpoints, pruning.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, params};

use crate::store::{MOST_HEADS, Shared};
use crate::writer::{Patience, is_busy};
use crate::{Retention, StoreError, absorb, busy, encode, lock};

/// Records are moved so long after the first of them was appended, a thousand or more in one transaction under load.
/// Whoever reads the journal moves them before, so nobody waits for this.
const GATHER: Duration = Duration::from_secs(1);

/// Old records are looked for this often, and so often a chain is joined to the others of the home.
const PRUNE_INTERVAL: Duration = Duration::from_mins(1);

/// The log is carried over when nothing was written for this long.
const IDLE: Duration = Duration::from_secs(2);

/// Rows that one step of pruning deletes: about a millisecond.
const PRUNED_AT_ONCE: i64 = 256;

/// Steps of one round of pruning, so that a first round over an old journal does not go on for minutes.
const MOST_STEPS: usize = 512;

/// The log is carried over each time this many passes wrote to it, or when nothing is written.
const PASSES_BETWEEN_CHECKPOINTS: u32 = 16;

/// A log of this many pages (64 MiB) is started anew even if writers have to wait for the disk once: under
/// uninterrupted writing a passive checkpoint never reaches its end, and the log would grow without bound.
const LONGEST_LOG: i64 = 16_384;

/// How the thread is told what to do.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// True where the thread knows already that there are records, so that most callers tell it nothing.
    known: AtomicBool,
    /// The same for records that should be moved at once.
    urged: AtomicBool,
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    /// Records were appended.
    gather: bool,
    /// They should be moved at once.
    urgent: bool,
    stop: bool,
}

impl Signal {
    /// Tells that a record was appended.
    pub(crate) fn appended(&self, is_urgent: bool) {
        if !self.known.swap(true, Ordering::AcqRel) {
            self.want(|wanted| wanted.gather = true);
        }
        if is_urgent && !self.urged.swap(true, Ordering::AcqRel) {
            self.want(|wanted| wanted.urgent = true);
        }
    }

    /// Asks the thread to end.
    pub(crate) fn stop(&self) {
        self.want(|wanted| wanted.stop = true);
    }

    fn want(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut lock(&self.wanted));
        self.changed.notify_one();
    }

    /// Waits until something is asked for that does not wait itself, or until the deadline.
    fn wait(&self, deadline: Instant, wakes: impl Fn(Wanted) -> bool) -> Wanted {
        let mut wanted = lock(&self.wanted);
        while !wakes(*wanted) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            wanted = self.changed.wait_timeout(wanted, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *wanted
    }

    /// Forgets what was asked for, but for the end: what is appended from now on is asked for anew.
    fn reset(&self) {
        let mut wanted = lock(&self.wanted);
        (wanted.gather, wanted.urgent) = (false, false);
        self.known.store(false, Ordering::Release);
        self.urged.store(false, Ordering::Release);
    }
}

/// Runs until told to stop. `connection` is the thread's own, for checkpoints.
pub(crate) fn run(shared: &Shared, mut connection: Connection, retention: Retention) {
    let mut next_round = Instant::now();
    let mut uncarried = 0;
    loop {
        let deadline = next_round.min(Instant::now() + if uncarried > 0 { IDLE } else { PRUNE_INTERVAL });
        let mut wanted = shared.signal.wait(deadline, |wanted| wanted.gather || wanted.urgent || wanted.stop);
        if wanted.gather && !wanted.urgent && !wanted.stop {
            wanted = shared.signal.wait(Instant::now() + GATHER, |wanted| wanted.urgent || wanted.stop);
        }
        let moves = wanted.gather || wanted.urgent || wanted.stop;
        if moves {
            shared.signal.reset();
            uncarried += 1;
            if let Err(error) = shared.absorb() {
                let busy = matches!(&error, StoreError::Sqlite(error) if is_busy(error));
                let error = &error as &dyn std::error::Error;
                if busy {
                    tracing::warn!(error, "another process holds the database: records wait in their segments");
                } else {
                    tracing::error!(error, "records could not be moved into the database: they wait in their segments");
                }
                // Nobody may append again before it succeeds.
                shared.signal.appended(false);
            }
        }
        if wanted.stop {
            return;
        }
        if Instant::now() >= next_round {
            next_round = Instant::now() + PRUNE_INTERVAL;
            if let Err(error) = prune(shared, retention) {
                tracing::warn!(error = &error as &dyn std::error::Error, "old journal records were not pruned");
            }
            join(shared);
        }
        if uncarried > 0 && !moves || uncarried >= PASSES_BETWEEN_CHECKPOINTS {
            uncarried = 0;
            if let Err(error) = checkpoint(&mut connection) {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database log was not checkpointed");
            }
        }
    }
}

/// Joins the chain of this process to the others of the home.
fn join(shared: &Shared) {
    let heads = lock(&shared.writer).transact(Patience::Little, |connection| absorb::heads(connection, MOST_HEADS));
    let joined: Result<(), Box<dyn std::error::Error>> = match heads {
        Ok(heads) => shared.appender.join(heads).map_err(Into::into),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = joined {
        tracing::warn!(error = &*error, "the chain of records was not joined to the others of the home");
    }
}

/// Only the oldest rows are looked at: a condition over the whole journal would read all of it, under the write lock,
/// whenever there is nothing to delete.
pub(crate) const OLDEST: &str = "SELECT id, at, chain, sequence, hash, (SELECT max(id) FROM records)
    FROM records ORDER BY id LIMIT ?1";

/// The same for rows of layouts before records had chains.
const PRUNE_FORMER: &str = "DELETE FROM journal WHERE id IN (
    SELECT id FROM (SELECT id, at FROM journal ORDER BY id LIMIT ?3)
    WHERE id <= (SELECT max(seq) FROM sqlite_sequence WHERE name = 'records') - ?1 OR at < ?2)";

/// Payloads are the largest, so they go first where the database is too large.
const PRUNE_PAYLOADS: &str =
    "DELETE FROM payloads WHERE id IN (SELECT id FROM payloads WHERE at < ?1 ORDER BY id LIMIT ?2)";

/// Deletes what retention no longer wants, in small steps between which others write. The newest record stays. What goes
/// is always the beginning of a chain, and the chain remembers what it went up to.
pub(crate) fn prune(shared: &Shared, retention: Retention) -> rusqlite::Result<()> {
    let back = |age| SystemTime::now().checked_sub(age).map_or(i64::MIN, encode::microseconds);
    let (oldest, oldest_payload) = (back(retention.age), back(retention.payloads));
    let records = i64::try_from(retention.records).unwrap_or(i64::MAX);
    for _ in 0..MOST_STEPS {
        let deleted = lock(&shared.writer).transact(Patience::Little, |connection| {
            let is_too_large = bytes_in_use(connection)? > retention.bytes;
            let payloads = connection
                .prepare_cached(PRUNE_PAYLOADS)?
                .execute(params![if is_too_large { i64::MAX } else { oldest_payload }, PRUNED_AT_ONCE])?;
            let (records, oldest) = if is_too_large && payloads == 0 { (0, i64::MAX) } else { (records, oldest) };
            let former = connection.prepare_cached(PRUNE_FORMER)?.execute(params![records, oldest, PRUNED_AT_ONCE])?;
            Ok(former + payloads + prune_step(connection, records, oldest)?)
        })?;
        if i64::try_from(deleted).unwrap_or(i64::MAX) < PRUNED_AT_ONCE {
            break;
        }
    }
    Ok(())
}

/// Bytes of the pages that hold something; what was deleted leaves free pages that are used again.
fn bytes_in_use(connection: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
    Ok(u64::try_from(pages.saturating_mul(pragma("page_size")?)).unwrap_or(u64::MAX))
}

fn prune_step(connection: &Connection, records: i64, oldest: i64) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(OLDEST)?;
    let mut rows = statement.query([PRUNED_AT_ONCE])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let (id, at, newest): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(5)?);
        let is_unwanted = id <= newest.saturating_sub(records) || at < oldest;
        if id >= newest || !is_unwanted {
            break;
        }
        let (chain, sequence, hash): (i64, i64, Vec<u8>) = (row.get(2)?, row.get(3)?, row.get(4)?);
        connection
            .prepare_cached("UPDATE chains SET pruned = ?2, pruned_hash = ?3 WHERE id = ?1")?
            .execute(params![chain, sequence, hash])?;
        last = Some(id);
    }
    drop(rows);
    match last {
        Some(id) => connection.prepare_cached("DELETE FROM records WHERE id <= ?1")?.execute([id]),
        None => Ok(0),
    }
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

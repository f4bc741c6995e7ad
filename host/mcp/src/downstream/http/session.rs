//! One session of the `initialize` era over HTTP.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::task::AbortHandle;

use super::Streams;
use crate::downstream::{Connection, Entrance};

/// Random bytes of a session's id: it may stand in for who opened it, so it must not be guessed (MCP 2025-11-25,
/// security best practices).
const ID_BYTES: usize = 24;

/// The first revision whose clients understand an event without a message (SEP-1699).
const PRIMING_SINCE: &str = "2025-11-25";

/// One session. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    id: String,
    pub(super) connection: Arc<Connection>,
    pub(super) streams: Arc<Streams>,
    revision: &'static str,
    used: Mutex<Instant>,
    telling: AbortHandle,
}

impl Session {
    /// Opens a session for a client that introduced itself; nothing where it did not, or where there is no randomness.
    pub(super) fn open(connection: Arc<Connection>, streams: Arc<Streams>) -> Option<Self> {
        let revision = connection.revision()?;
        let mut random = [0; ID_BYTES];
        getrandom::fill(&mut random).ok()?;
        let telling = tokio::spawn({
            let connection = Arc::clone(&connection);
            async move { connection.tell_changes().await }
        });
        Some(Self {
            id: URL_SAFE_NO_PAD.encode(random),
            connection,
            streams,
            revision,
            used: Mutex::new(Instant::now()),
            telling: telling.abort_handle(),
        })
    }

    /// Returns its id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the revision that is spoken.
    pub(super) fn revision(&self) -> &'static str {
        self.revision
    }

    /// Returns true where the client understands an event that is there for its id alone.
    pub(super) fn is_primed(&self) -> bool {
        self.revision >= PRIMING_SINCE
    }

    /// Returns true where batches are understood: they were taken out of the protocol in 2025-06-18.
    pub(super) fn has_batches(&self) -> bool {
        self.revision < "2025-06-18"
    }

    /// Returns true where a client that came in so may use it.
    pub(super) fn belongs_to(&self, entrance: &Entrance) -> bool {
        self.connection.entrance() == entrance
    }

    /// Notes that it is used now.
    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns since when it is idle; nothing while anything of it runs.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let idle = self.connection.is_idle() && !self.streams.is_in_use();
        idle.then(|| *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends it: what runs is cancelled, and every stream ends.
    pub(super) fn end(&self) {
        self.telling.abort();
        self.connection.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

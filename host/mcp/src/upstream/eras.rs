//! What is known of the eras of servers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use portcullis_model::Launch;

/// So many servers are remembered, the newest: far more than a config has, and a few kilobytes.
const MOST: usize = 256;

/// How a server was found to be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In the stateless era.
    Stateless,
    /// By `initialize`.
    Initialize,
    /// By `initialize`, over HTTP+SSE.
    Sse,
}

/// Remembers which era servers speak, so that a new connection does not have to find out again.
///
/// A server is told by its command and arguments, or by its URL. What is known is forgotten when a connection fails by it.
#[derive(Default)]
pub struct Eras {
    known: Mutex<VecDeque<(Key, Found)>>,
}

/// What tells servers apart. May hold secrets, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(Vec<String>);

impl Key {
    pub(super) fn of(launch: &Launch) -> Self {
        Self(match launch {
            Launch::Stdio { command, arguments, working_directory, environment: _ } => {
                let place = working_directory.clone().unwrap_or_default();
                [place, command.clone()].into_iter().chain(arguments.iter().cloned()).collect()
            }
            Launch::Http { url, .. } => vec![url.clone()],
        })
    }
}

impl Eras {
    fn known(&self) -> MutexGuard<'_, VecDeque<(Key, Found)>> {
        // Nothing panics while it is held.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &Key) -> Option<Found> {
        self.known().iter().find(|(known, _)| known == key).map(|(_, found)| *found)
    }

    pub(super) fn note(&self, key: Key, found: Found) {
        let mut known = self.known();
        known.retain(|(other, _)| *other != key);
        if known.len() >= MOST {
            known.pop_front();
        }
        known.push_back((key, found));
    }

    pub(super) fn forget(&self, key: &Key) {
        self.known().retain(|(other, _)| other != key);
    }
}

impl fmt::Debug for Eras {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Eras").field("known", &self.known().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(url: &str) -> Key {
        Key::of(&Launch::Http { url: url.to_owned(), headers: Vec::new(), legacy_sse: false })
    }

    #[test]
    fn what_is_found_last_counts_until_it_is_forgotten() {
        let eras = Eras::default();
        assert_eq!(eras.get(&key("http://a")), None);
        eras.note(key("http://a"), Found::Initialize);
        eras.note(key("http://a"), Found::Stateless);
        assert_eq!((eras.get(&key("http://a")), eras.get(&key("http://b"))), (Some(Found::Stateless), None));
        eras.forget(&key("http://a"));
        assert_eq!(eras.get(&key("http://a")), None);
    }

    #[test]
    fn only_the_newest_are_remembered() {
        let eras = Eras::default();
        (0..=MOST).for_each(|number| eras.note(key(&number.to_string()), Found::Initialize));
        assert_eq!((eras.get(&key("0")), eras.get(&key("1"))), (None, Some(Found::Initialize)));
        assert_eq!(eras.known().len(), MOST);
    }
}

//! From where a token was used: the first use, and each from a new place, is told to the operator.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::source::Network;

/// So many places of one token are remembered; then all are forgotten, so that each is told of once more.
const MOST: usize = 64;

/// Characters of a program's name that tell it from others.
const NAME: usize = 32;

/// What a use is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The first of this process.
    First,
    /// The first from this place.
    NewPlace,
    /// One as before.
    Known,
}

/// The places from which a token was used.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The place of the last use, so that one program with many requests takes no lock.
    last: AtomicU64,
    places: Mutex<HashSet<u64>>,
}

/// Returns the name of a program, without its version.
pub(crate) fn program(user_agent: &[u8]) -> &[u8] {
    let end = user_agent.iter().position(|byte| matches!(byte, b'/' | b' ' | b'(')).unwrap_or(user_agent.len());
    user_agent.get(..end.min(NAME)).unwrap_or_default()
}

impl Seen {
    /// Notes a use from an address by a program.
    pub(crate) fn note(&self, source: IpAddr, user_agent: &[u8]) -> Use {
        let mut hasher = DefaultHasher::new();
        Network::to_audit(source).hash(&mut hasher);
        program(user_agent).hash(&mut hasher);
        // Zero is for nothing yet.
        let place = hasher.finish().max(1);
        if self.last.swap(place, Ordering::Relaxed) == place {
            return Use::Known;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = places.is_empty();
        if !places.contains(&place) && places.len() >= MOST {
            places.clear();
        }
        match (is_first, places.insert(place)) {
            (true, _) => Use::First,
            (false, true) => Use::NewPlace,
            (false, false) => Use::Known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_use_and_each_from_a_new_place_is_told_once() {
        let seen = Seen::default();
        let from = |address: &str, agent: &str| seen.note(address.parse().unwrap(), agent.as_bytes());
        assert_eq!(from("192.0.2.1", "client/1.0"), Use::First);
        assert_eq!(from("192.0.2.1", "client/1.1"), Use::Known, "another version is no other program");
        assert_eq!(from("192.0.2.200", "client/1.0"), Use::Known, "the same network");
        assert_eq!(from("198.51.100.1", "client/1.0"), Use::NewPlace);
        assert_eq!(from("198.51.100.1", "curl/8"), Use::NewPlace);
        assert_eq!(from("192.0.2.1", "client/1.0"), Use::Known);
        assert_eq!(from("198.51.100.1", "curl/8"), Use::Known);
    }

    #[test]
    fn places_that_are_remembered_are_bounded() {
        let seen = Seen::default();
        for number in 0..10_000u32 {
            seen.note(IpAddr::V4((number << 8).into()), b"client");
        }
        assert!(seen.places.lock().unwrap().len() <= MOST);
    }
}

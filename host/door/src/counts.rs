//! What happened since the start, counted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::refusal::Reason;

/// What happened since the start, counted.
#[derive(Debug, Default)]
pub struct Counts {
    missing: AtomicU64,
    invalid: AtomicU64,
    other_routes: AtomicU64,
    malformed: AtomicU64,
    places: AtomicU64,
    limited: AtomicU64,
    pages: AtomicU64,
    consents: AtomicU64,
    issued: AtomicU64,
    replays: AtomicU64,
}

fn one(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    pub(crate) fn refused(&self, reason: Reason) {
        one(match reason {
            Reason::Missing => &self.missing,
            Reason::Invalid => &self.invalid,
            Reason::OtherRoutes => &self.other_routes,
            Reason::Malformed | Reason::InAddress => &self.malformed,
            Reason::TooOften { .. } => &self.limited,
        });
    }

    pub(crate) fn placed(&self) {
        one(&self.places);
    }

    pub(crate) fn limited(&self) {
        one(&self.limited);
    }

    pub(crate) fn paged(&self) {
        one(&self.pages);
    }

    pub(crate) fn consented(&self) {
        one(&self.consents);
    }

    pub(crate) fn issued(&self) {
        one(&self.issued);
    }

    pub(crate) fn replayed(&self) {
        one(&self.replays);
    }

    /// Returns each count with its name, as metrics show it.
    pub fn list(&self) -> [(&'static str, u64); 10] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("refused_without_token", of(&self.missing)),
            ("refused_wrong_token", of(&self.invalid)),
            ("refused_other_routes", of(&self.other_routes)),
            ("refused_malformed", of(&self.malformed)),
            ("refused_too_often", of(&self.limited)),
            ("token_places", of(&self.places)),
            ("consent_pages", of(&self.pages)),
            ("consents", of(&self.consents)),
            ("tokens_issued", of(&self.issued)),
            ("replays", of(&self.replays)),
        ]
    }
}

//! Sliding-window counts that the host keeps for policies.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use portcullis_model::{MeterReading, PolicyName, Principal};
use tokio::time::Instant;

use super::lock;
use crate::ActivePolicy;

/// A window is counted in so many slices: a charge is remembered for at most a sixtieth of the window too long, never
/// too short, and a meter never holds more entries than this however often it is charged.
const SLICES: u32 = 60;

/// So many keys of one policy and principal are counted at once; a charge under a further key is refused. A server
/// that makes up keys must not make the host forget others.
const MOST_KEYS: usize = 1024;

/// So many principals are counted at once; see `Sessions` for their number.
const MOST_PRINCIPALS: usize = 4096;

/// A charge that waits for admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) policy: PolicyName,
    pub(crate) meter: String,
    pub(crate) key: String,
    pub(crate) window: Duration,
    pub(crate) amount: u64,
    pub(crate) limit: u64,
}

impl Pending {
    /// Returns true where both count the same thing.
    pub(crate) fn is_same_count(&self, other: &Self) -> bool {
        self.policy == other.policy && self.meter == other.meter && self.key == other.key
    }
}

type Counted = (PolicyName, String, String);

#[derive(Debug, Default)]
struct Window {
    span: Duration,
    /// Start of a slice, and what was charged in it.
    slices: VecDeque<(Instant, u64)>,
}

impl Window {
    /// Forgets what left the window and returns the sum of the rest.
    fn sum(&mut self, now: Instant) -> u64 {
        let reach = self.span.saturating_add(self.span / SLICES);
        while self.slices.front().is_some_and(|(start, _)| now.duration_since(*start) >= reach) {
            self.slices.pop_front();
        }
        self.slices.iter().fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    fn add(&mut self, now: Instant, amount: u64) {
        match self.slices.back_mut() {
            Some((start, sum)) if now.duration_since(*start) < self.span / SLICES => *sum = sum.saturating_add(amount),
            _ => self.slices.push_back((now, amount)),
        }
    }
}

/// All meters, by principal: one must not use up what another may spend.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    counts: Mutex<BTreeMap<Principal, BTreeMap<Counted, Window>>>,
}

impl Meters {
    /// Returns the readings of one policy for one principal, those at zero left out.
    pub(crate) fn readings(&self, principal: &Principal, policy: &ActivePolicy) -> Vec<MeterReading> {
        let now = Instant::now();
        let mut counts = lock(&self.counts);
        let Some(counted) = counts.get_mut(principal) else {
            return Vec::new();
        };
        let first = (policy.description.name.clone(), String::new(), String::new());
        counted
            .range_mut(first..)
            .take_while(|((name, _, _), _)| *name == policy.description.name)
            .filter_map(|((_, meter, key), window)| {
                let amount = window.sum(now);
                let window_seconds = u32::try_from(window.span.as_secs()).unwrap_or(u32::MAX);
                (amount > 0).then(|| MeterReading { meter: meter.clone(), key: key.clone(), amount, window_seconds })
            })
            .collect()
    }

    /// Applies all charges at once, or none and returns the index of the first that exceeds its limit. No two of them
    /// may count the same thing.
    pub(crate) fn admit(&self, principal: &Principal, charges: &[Pending]) -> Result<(), usize> {
        if charges.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let mut counts = lock(&self.counts);
        if !counts.contains_key(principal) && counts.len() >= MOST_PRINCIPALS {
            counts.retain(|_, counted| counted.values_mut().any(|window| window.sum(now) > 0));
            if counts.len() >= MOST_PRINCIPALS {
                return Err(0);
            }
        }
        let counted = counts.entry(principal.clone()).or_default();
        for (index, charge) in charges.iter().enumerate() {
            let sum = counted.get_mut(&charge.counted()).map_or(0, |window| {
                window.span = charge.window;
                window.sum(now)
            });
            if sum.checked_add(charge.amount).is_none_or(|sum| sum > charge.limit) {
                return Err(index);
            }
        }
        if let Some(index) = without_room(counted, charges, now) {
            return Err(index);
        }
        for charge in charges {
            let window = counted.entry(charge.counted()).or_default();
            window.span = charge.window;
            window.add(now, charge.amount);
        }
        Ok(())
    }
}

impl Pending {
    fn counted(&self) -> Counted {
        (self.policy.clone(), self.meter.clone(), self.key.clone())
    }
}

/// Returns the first charge for whose new key there is no room, after forgetting what counts nothing any more.
fn without_room(counted: &mut BTreeMap<Counted, Window>, charges: &[Pending], now: Instant) -> Option<usize> {
    let fresh = charges.iter().filter(|charge| !counted.contains_key(&charge.counted())).count();
    if fresh == 0 || counted.len() + fresh <= MOST_KEYS {
        return None;
    }
    counted.retain(|_, window| window.sum(now) > 0);
    charges.iter().enumerate().find_map(|(index, charge)| {
        if counted.contains_key(&charge.counted()) {
            return None;
        }
        let held = counted.keys().filter(|(policy, _, _)| *policy == charge.policy).count();
        let wanted = charges
            .iter()
            .filter(|other| other.policy == charge.policy && !counted.contains_key(&other.counted()))
            .count();
        (held + wanted > MOST_KEYS).then_some(index)
    })
}

//! How often strangers may ask, each and together.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Moment, millis};
use crate::source::Network;

/// What is counted, each in buckets of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    /// A page of `/authorize` for somebody new.
    Authorize,
    /// A page of `/authorize` for a browser that has one already.
    Browser,
    /// An attempt at the operator's passphrase.
    Passphrase,
    /// A request at the token or the revocation endpoint.
    Token,
    /// A document about this server.
    Metadata,
    /// A client that registers itself.
    Register,
    /// A document of a client that is fetched.
    Fetch,
    /// A request for a route without a token, or with a wrong one.
    Refused,
}

/// How much is let through: so many at once, and one more each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    burst: u32,
    each: Duration,
}

impl Counted {
    /// What one source may do.
    fn rate(self) -> Rate {
        let per_minute = |count: u32| Rate { burst: count, each: Duration::from_mins(1) / count };
        match self {
            // None of these costs state, nor more work than a refusal: this is there so that nobody makes us busy.
            Self::Authorize | Self::Browser | Self::Token | Self::Metadata => per_minute(60),
            Self::Passphrase => per_minute(5),
            Self::Register => Rate { burst: 5, each: Duration::from_mins(12) },
            Self::Fetch => per_minute(10),
            Self::Refused => per_minute(30),
        }
    }

    /// What all sources may do together; nothing where each may do as it does. What keeps no state and costs little has no
    /// common limit: one stranger could use it up for everybody.
    fn together(self) -> Option<Rate> {
        match self {
            // Guessing; the operator has another way in that needs no passphrase.
            Self::Passphrase => Some(Rate { burst: 20, each: Duration::from_mins(3) }),
            Self::Fetch => Some(Rate { burst: 10, each: Duration::from_secs(6) }),
            Self::Authorize | Self::Browser | Self::Token | Self::Metadata | Self::Register | Self::Refused => None,
        }
    }
}

/// Who is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Network(Network),
    Browser(u128),
    /// All together.
    Everybody,
    /// All that there is no room to tell apart.
    Crowd,
}

/// So many sources are told apart; the others share one bucket. An entry has 48 bytes.
const MOST: usize = 65_536;

/// Where there is no room, it is looked for at most so often: that takes a pass over all.
const SWEEP: Duration = Duration::from_secs(1);

/// Who asks too often, and when it may ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooOften {
    /// After so long.
    pub(crate) retry: Duration,
}

/// Buckets, by what and whom they count. A bucket is the moment at which it will be full again (GCRA).
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    full_at: HashMap<(Counted, Who), Moment>,
    swept: Moment,
}

impl Limiter {
    /// Counts a request of a source.
    pub(crate) fn count(&self, what: Counted, source: IpAddr, clock: &Clock) -> Result<(), TooOften> {
        self.count_as(what, Who::Network(Network::to_limit(source)), clock.now())
    }

    /// Counts a request of a browser that is known again.
    pub(crate) fn count_browser(&self, nonce: u128, clock: &Clock) -> Result<(), TooOften> {
        self.count_as(Counted::Browser, Who::Browser(nonce), clock.now())
    }

    /// Returns how many buckets there are.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).full_at.len()
    }

    fn count_as(&self, what: Counted, who: Who, now: Moment) -> Result<(), TooOften> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let who = inner.place(what, who, now);
        let own = inner.allow(what, who, what.rate(), now)?;
        let common = what.together().map(|rate| inner.allow(what, Who::Everybody, rate, now)).transpose()?;
        // Only now: what is refused takes nothing.
        inner.full_at.insert((what, who), own);
        if let Some(common) = common {
            inner.full_at.insert((what, Who::Everybody), common);
        }
        Ok(())
    }
}

impl Inner {
    /// Returns the bucket of somebody: an own one as long as there is room.
    fn place(&mut self, what: Counted, who: Who, now: Moment) -> Who {
        if self.full_at.len() < MOST || self.full_at.contains_key(&(what, who)) {
            return who;
        }
        if now.saturating_sub(self.swept) >= millis(SWEEP) {
            self.swept = now;
            // A full bucket says no more than none.
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        if self.full_at.len() < MOST { who } else { Who::Crowd }
    }

    /// Returns when the bucket will be full again after this request.
    fn allow(&self, what: Counted, who: Who, rate: Rate, now: Moment) -> Result<Moment, TooOften> {
        let each = millis(rate.each).max(1);
        let full_at = self.full_at.get(&(what, who)).copied().unwrap_or(now).max(now);
        let next = full_at.saturating_add(each);
        let room = now.saturating_add(each.saturating_mul(u64::from(rate.burst)));
        if next > room { Err(TooOften { retry: Duration::from_millis(next - room) }) } else { Ok(next) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn source(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn a_source_gets_its_burst_and_then_one_a_period_and_others_are_not_concerned() {
        let (limiter, clock) = (Limiter::default(), Clock::still());
        let ask = |from| limiter.count(Counted::Refused, source(from), &clock);
        for _ in 0..30 {
            ask(1).unwrap();
        }
        assert_eq!(ask(1).unwrap_err().retry, Duration::from_secs(2));
        ask(2).unwrap();
        clock.advance(Duration::from_secs(2));
        ask(1).unwrap();
        assert!(ask(1).is_err());
    }

    #[test]
    fn guesses_at_the_passphrase_are_limited_for_all_together() {
        let (limiter, clock) = (Limiter::default(), Clock::still());
        let passed = (0..100).filter(|from| limiter.count(Counted::Passphrase, source(*from), &clock).is_ok()).count();
        assert_eq!(passed, 20);
    }

    #[test]
    fn however_many_sources_there_are_the_buckets_do_not_grow_and_full_ones_make_room() {
        let (limiter, clock) = (Limiter::default(), Clock::still());
        for number in 0..100_000u32 {
            let address = Ipv6Addr::from_bits(u128::from(number) << 64);
            let _limited = limiter.count(Counted::Authorize, address.into(), &clock);
        }
        assert!(limiter.len() <= MOST + 1, "{}", limiter.len());
        // Those that came too late share one bucket, and it is used up.
        assert!(limiter.count(Counted::Authorize, source(7), &clock).is_err());
        clock.advance(Duration::from_secs(2));
        limiter.count(Counted::Authorize, source(7), &clock).unwrap();
        assert!(limiter.len() <= 2, "{}", limiter.len());
    }
}

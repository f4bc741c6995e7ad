//! The tokens that open routes, in memory, and how one is looked up.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use portcullis_model::{Digest, Principal, ServerName};
use subtle::ConstantTimeEq as _;

use crate::clock::Moment;
use crate::named::NamedToken;
use crate::route::Route;
use crate::seen::Seen;
use crate::source::AddressRange;

/// What a token opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All routes.
    All,
    /// The routes of these servers.
    Servers(Vec<ServerName>),
    /// The one route that it was given for (RFC 8707). It is no token at all on any other.
    Audience(Route),
}

/// Whom a token was given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The operator made it; it goes when the file of tokens says so.
    Operator,
    /// A client got it at the token endpoint, under a grant of that id.
    Grant(u128),
}

/// A token that opens routes, without the token.
#[derive(Debug)]
pub(crate) struct Credential {
    pub(crate) digest: Digest,
    pub(crate) principal: Principal,
    pub(crate) reach: Reach,
    pub(crate) sources: Vec<AddressRange>,
    pub(crate) expires: Option<Moment>,
    pub(crate) origin: Origin,
    pub(crate) seen: Seen,
}

/// Why a token opens nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// There is no such token, or not any more, or not from there, or it was given for another route.
    Unknown,
    /// The token is good, and opens other routes than this.
    OtherRoutes,
}

impl Credential {
    /// Builds that of a token with a name; nothing where the name is no principal.
    pub(crate) fn of_named(token: &NamedToken) -> Option<Self> {
        Some(Self {
            digest: token.digest,
            principal: Principal::parse(&token.name).ok()?,
            reach: token.servers.clone().map_or(Reach::All, Reach::Servers),
            sources: token.sources.clone(),
            expires: token.expires.map(|seconds| seconds.saturating_mul(1_000)),
            origin: Origin::Operator,
            seen: Seen::default(),
        })
    }

    /// Returns true where it is the same, whatever it was used for meanwhile.
    fn is_like(&self, other: &Self) -> bool {
        self.digest == other.digest
            && self.principal == other.principal
            && self.reach == other.reach
            && self.sources == other.sources
            && self.expires == other.expires
            && self.origin == other.origin
    }

    fn opens(&self, route: Option<&ServerName>, source: IpAddr, now: Moment) -> Result<(), Closed> {
        let has_expired = self.expires.is_some_and(|expires| now >= expires);
        let is_elsewhere = !self.sources.is_empty() && !self.sources.iter().any(|range| range.contains(source));
        if has_expired || is_elsewhere {
            return Err(Closed::Unknown);
        }
        match (&self.reach, route) {
            (Reach::All, _) => Ok(()),
            (Reach::Audience(audience), route) if audience.as_ref() == route => Ok(()),
            (Reach::Audience(_), _) => Err(Closed::Unknown),
            (Reach::Servers(servers), Some(server)) if servers.contains(server) => Ok(()),
            (Reach::Servers(_), _) => Err(Closed::OtherRoutes),
        }
    }
}

/// All tokens that open routes, by digest. One lookup for all kinds.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    all: RwLock<HashMap<Digest, Arc<Credential>>>,
}

impl Credentials {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Digest, Arc<Credential>>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Digest, Arc<Credential>>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what a token opens, where it opens the route. Where tokens differ is not told by how long this takes: the
    /// digest is looked up, and then compared as a whole.
    pub(crate) fn find(
        &self,
        token: &Digest,
        route: Option<&ServerName>,
        source: IpAddr,
        now: Moment,
    ) -> Result<Arc<Credential>, Closed> {
        let found = self.read().get(token).cloned().ok_or(Closed::Unknown)?;
        if !bool::from(found.digest.as_bytes().ct_eq(token.as_bytes())) {
            return Err(Closed::Unknown);
        }
        found.opens(route, source, now).map(|()| found)
    }

    /// Puts these in the place of all that the operator made. One that stays the same keeps what is known of its use.
    pub(crate) fn replace_operators(&self, new: Vec<Credential>) {
        let mut all = self.write();
        let mut before = HashMap::new();
        all.retain(|digest, credential| {
            let goes = credential.origin == Origin::Operator;
            if goes {
                before.insert(*digest, Arc::clone(credential));
            }
            !goes
        });
        for credential in new {
            let same = before.remove(&credential.digest).filter(|before| before.is_like(&credential));
            all.insert(credential.digest, same.unwrap_or_else(|| Arc::new(credential)));
        }
    }

    pub(crate) fn add(&self, credential: Credential) {
        self.write().insert(credential.digest, Arc::new(credential));
    }

    pub(crate) fn remove(&self, digest: &Digest) {
        self.write().remove(digest);
    }

    /// Removes those whose origin is not kept.
    pub(crate) fn retain(&self, keep: impl Fn(&Credential) -> bool) {
        self.write().retain(|_, credential| keep(credential));
    }

    /// Returns whom tokens act for that hold.
    pub(crate) fn principals(&self, now: Moment) -> HashSet<Principal> {
        let all = self.read();
        let holding = all.values().filter(|credential| credential.expires.is_none_or(|expires| now < expires));
        holding.map(|credential| credential.principal.clone()).collect()
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.read().len()
    }
}

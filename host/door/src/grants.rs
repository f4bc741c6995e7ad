//! What the operator consented to: codes that wait to be exchanged, and families of tokens.
//!
//! A family is what came of one consent: one refresh token and one access token at a time, the next replacing the last. A
//! token of a family that was replaced already, shown again, was copied: the family ends (RFC 9700 §4.14.2).

mod code;
mod keep;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::{Digest, Principal, Secret};
use subtle::ConstantTimeEq as _;

pub(crate) use code::{Consent, Shown as CodeShown};
pub(crate) use keep::Kept;

use crate::clock::{Moment, millis};
use crate::credential::{Credential, Credentials, Origin, Reach};
use crate::mint::{Kind, NoRandomness, digest, mint, random};
use crate::route::Route;
use crate::seen::Seen;
use crate::settings::AuthorizationSettings;

/// So many families there may be in all. Each took a consent of the operator.
const MOST: usize = 4_096;
/// So many of one client; the next ends the oldest of the same.
const MOST_OF_CLIENT: usize = 16;
/// Ids of clients are put into the names of principals up to this length.
const LONGEST_IN_PRINCIPAL: usize = 200;

/// What came of one consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) id: u128,
    pub(crate) client: String,
    pub(crate) name: String,
    pub(crate) route: Route,
    pub(crate) made: Moment,
    /// When it ends, however much it is used.
    pub(crate) until: Moment,
    pub(crate) refresh: Digest,
    pub(crate) refresh_until: Moment,
    pub(crate) access: Digest,
    pub(crate) access_until: Moment,
}

/// A family of tokens, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantView {
    /// Its name, by which it is revoked.
    pub id: String,
    /// The id of the client.
    pub client_id: String,
    /// What the client calls itself.
    pub client: String,
    /// The server that it is for; all where there is none.
    pub server: Option<String>,
    /// When the operator consented, in seconds since 1970.
    pub made: u64,
    /// When it ends at the latest, in seconds since 1970.
    pub until: u64,
}

/// Tokens as they are given out, once.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) access: Secret,
    pub(crate) refresh: Secret,
    /// Seconds that the access token holds.
    pub(crate) seconds: u64,
}

/// Why no tokens are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// There is no such code or token, or not any more, or not for this client.
    Invalid,
    /// It was used before: its family has ended.
    Replayed,
    /// It is for another resource.
    Target,
    /// There are too many families, or no randomness.
    Busy,
}

impl From<NoRandomness> for Denied {
    fn from(NoRandomness: NoRandomness) -> Self {
        Self::Busy
    }
}

#[derive(Debug, Default)]
struct State {
    grants: HashMap<u128, Grant>,
    codes: HashMap<Digest, code::CodeEntry>,
}

/// Codes and families.
#[derive(Debug)]
pub(crate) struct Grants {
    state: Mutex<State>,
    kept: Kept,
}

/// Returns the principal that a client acts for: sessions and remembered approvals survive a new consent.
pub(crate) fn principal(client: &str) -> Option<Principal> {
    let name = if client.len() <= LONGEST_IN_PRINCIPAL {
        format!("oauth:{client}")
    } else {
        format!("oauth:{}", Digest::of(client.as_bytes()))
    };
    Principal::parse(&name).ok()
}

/// Writes a refresh token: the name of its family, which nobody can guess, and a secret.
fn refresh_token(grant: u128) -> Result<Secret, NoRandomness> {
    let mut bytes = grant.to_be_bytes().to_vec();
    bytes.extend_from_slice(&random::<32>()?);
    Ok(Secret::new(format!("{}{}", Kind::Refresh.prefix(), URL_SAFE_NO_PAD.encode(bytes))))
}

/// Returns the family that a refresh token names.
fn family_of(token: &str) -> Option<u128> {
    let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix(Kind::Refresh.prefix())?).ok()?;
    let (grant, secret) = bytes.split_first_chunk::<16>()?;
    (secret.len() == 32).then(|| u128::from_be_bytes(*grant))
}

fn is_same(left: &Digest, right: &Digest) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

impl Grants {
    pub(crate) fn new(kept: Kept, grants: Vec<Grant>) -> Self {
        let grants = grants.into_iter().map(|grant| (grant.id, grant)).collect();
        Self { state: Mutex::new(State { grants, codes: HashMap::new() }), kept }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has what is kept written, where anything is kept: call it after each change, before it is told of.
    pub(crate) async fn keep(&self) {
        let snapshot = || keep::to_document(self.state().grants.values(), self.kept.issuer());
        self.kept.write(snapshot).await;
    }

    /// Exchanges a code for the first tokens of a family.
    pub(crate) fn redeem(
        &self,
        shown: &code::Shown<'_>,
        settings: &AuthorizationSettings,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Issued, Denied> {
        let mut state = self.state();
        let consent = match state.check_code(shown, now) {
            Ok(consent) => consent,
            Err((denied, family)) => {
                family
                    .and_then(|family| state.grants.remove(&family))
                    .inspect(|grant| credentials.remove(&grant.access));
                return Err(denied);
            }
        };
        // Before anything is used up.
        if state.grants.len() >= MOST {
            return Err(Denied::Busy);
        }
        let id = u128::from_be_bytes(random()?);
        let until = now.saturating_add(millis(settings.longest));
        let (issued, grant) = issue(
            settings,
            now,
            until,
            |refresh, refresh_until, access, access_until| Grant {
                id,
                client: consent.client.clone(),
                name: consent.name.clone(),
                route: consent.route.clone(),
                made: now,
                until,
                refresh,
                refresh_until,
                access,
                access_until,
            },
            id,
        )?;
        state.use_code(shown, id, now);
        state.make_room(&grant.client, credentials);
        publish(&grant, credentials);
        state.grants.insert(id, grant);
        Ok(issued)
    }

    /// Exchanges a refresh token for the next tokens of its family.
    pub(crate) fn refresh(
        &self,
        token: &str,
        client: &str,
        resource: Option<&Route>,
        settings: &AuthorizationSettings,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Issued, Denied> {
        let family = family_of(token).ok_or(Denied::Invalid)?;
        let mut state = self.state();
        let grant = state.grants.get(&family).filter(|grant| grant.client == client).ok_or(Denied::Invalid)?;
        if !is_same(&grant.refresh, &digest(token)) {
            // Nobody knows the name of a family who never had a token of it.
            state.grants.remove(&family).inspect(|grant| credentials.remove(&grant.access));
            return Err(Denied::Replayed);
        }
        if now >= grant.refresh_until || now >= grant.until {
            state.grants.remove(&family).inspect(|grant| credentials.remove(&grant.access));
            return Err(Denied::Invalid);
        }
        if resource.is_some_and(|resource| *resource != grant.route) {
            return Err(Denied::Target);
        }
        let old = grant.clone();
        let (issued, next) = issue(
            settings,
            now,
            old.until,
            |refresh, refresh_until, access, access_until| Grant {
                refresh,
                refresh_until,
                access,
                access_until,
                ..old.clone()
            },
            family,
        )?;
        credentials.remove(&old.access);
        publish(&next, credentials);
        state.grants.insert(family, next);
        Ok(issued)
    }

    /// Ends the family of a token, where the client is the one that it was given to.
    pub(crate) fn give_back(&self, token: &str, client: &str, credentials: &Credentials) -> bool {
        let mut state = self.state();
        let shown = digest(token);
        let of_refresh = family_of(token);
        let family = state
            .grants
            .values()
            .find(|grant| grant.client == client && (of_refresh == Some(grant.id) || is_same(&grant.access, &shown)));
        let Some(family) = family.map(|grant| grant.id) else { return false };
        state.grants.remove(&family).inspect(|grant| credentials.remove(&grant.access)).is_some()
    }

    /// Ends families: those of which this is true.
    pub(crate) fn end(&self, which: impl Fn(&Grant) -> bool, credentials: &Credentials) -> usize {
        let mut state = self.state();
        let before = state.grants.len();
        state.grants.retain(|_, grant| {
            let ends = which(grant);
            if ends {
                credentials.remove(&grant.access);
            }
            !ends
        });
        before - state.grants.len()
    }

    /// Forgets what is over.
    pub(crate) fn sweep(&self, credentials: &Credentials, now: Moment) {
        self.end(|grant| now >= grant.until || now >= grant.refresh_until, credentials);
        self.state().forget_codes(now);
    }

    /// Opens what the families that were kept open.
    pub(crate) fn publish_all(&self, credentials: &Credentials) {
        self.state().grants.values().for_each(|grant| publish(grant, credentials));
    }

    /// Lists the families, the newest first.
    pub(crate) fn list(&self) -> Vec<GrantView> {
        let mut grants: Vec<Grant> = self.state().grants.values().cloned().collect();
        grants.sort_by_key(|grant| std::cmp::Reverse((grant.made, grant.id)));
        let view = |grant: Grant| GrantView {
            id: name_of(grant.id),
            client_id: grant.client,
            client: grant.name,
            server: grant.route.map(|server| server.as_str().to_owned()),
            made: grant.made / 1_000,
            until: grant.until / 1_000,
        };
        grants.into_iter().map(view).collect()
    }

    /// Returns how many families, and how many codes there are.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let state = self.state();
        (state.grants.len(), state.codes.len())
    }
}

/// Returns the name by which the operator calls a family: it is none of the secrets in its tokens.
pub(crate) fn name_of(grant: u128) -> String {
    Digest::of(&grant.to_be_bytes()).short()
}

/// Makes the next tokens of a family.
fn issue(
    settings: &AuthorizationSettings,
    now: Moment,
    until: Moment,
    build: impl FnOnce(Digest, Moment, Digest, Moment) -> Grant,
    id: u128,
) -> Result<(Issued, Grant), NoRandomness> {
    let (access, refresh) = (mint(Kind::Access)?, refresh_token(id)?);
    let access_until = now.saturating_add(millis(settings.access)).min(until);
    let refresh_until = now.saturating_add(millis(settings.idle)).min(until);
    let grant = build(digest(refresh.expose()), refresh_until, digest(access.expose()), access_until);
    Ok((Issued { access, refresh, seconds: (access_until - now) / 1_000 }, grant))
}

/// Lets the access token of a family in.
fn publish(grant: &Grant, credentials: &Credentials) {
    let Some(principal) = principal(&grant.client) else { return };
    credentials.add(Credential {
        digest: grant.access,
        principal,
        reach: Reach::Audience(grant.route.clone()),
        sources: Vec::new(),
        expires: Some(grant.access_until),
        origin: Origin::Grant(grant.id),
        seen: Seen::default(),
    });
}

impl State {
    /// Ends the oldest families of a client that has many.
    fn make_room(&mut self, client: &str, credentials: &Credentials) {
        loop {
            let own = self.grants.values().filter(|grant| grant.client == client);
            if own.clone().count() < MOST_OF_CLIENT {
                return;
            }
            let Some(oldest) = own.min_by_key(|grant| (grant.made, grant.id)).map(|grant| grant.id) else { return };
            self.grants.remove(&oldest).inspect(|grant| credentials.remove(&grant.access));
        }
    }
}

#[cfg(test)]
mod tests;

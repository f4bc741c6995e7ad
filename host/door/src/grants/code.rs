//! Authorization codes: what stands between a consent and the first tokens (RFC 6749 §4.1.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::{Digest, Secret};
use subtle::ConstantTimeEq as _;

use super::{Denied, Grants, State};
use crate::clock::Moment;
use crate::mint::{Kind, NoRandomness, digest, mint};
use crate::route::Route;

/// A code holds for a minute: its client is waiting for it.
const HOLDS: Moment = 60 * 1_000;
/// A code that was used is remembered for so long, so that a second use is noticed.
const REMEMBERED: Moment = 10 * 60 * 1_000;
/// So many codes of one client there are at once, used ones included; one more takes the place of the oldest.
const MOST_OF_CLIENT: usize = 16;
/// So many there are in all. Each took a consent of the operator within ten minutes.
const MOST: usize = 1_024;
/// So many wrong verifiers end a code.
const MOST_FAILURES: u8 = 5;

/// What the operator consented to.
#[derive(Clone, Debug)]
pub(crate) struct Consent {
    pub(crate) client: String,
    pub(crate) name: String,
    pub(crate) redirect: String,
    pub(crate) challenge: String,
    pub(crate) route: Route,
}

/// A code that was given out.
#[derive(Debug)]
pub(crate) struct CodeEntry {
    consent: Consent,
    made: Moment,
    failures: u8,
    /// The family that came of it, once it was used, and when that was.
    used: Option<(u128, Moment)>,
}

impl CodeEntry {
    fn is_over(&self, now: Moment) -> bool {
        match self.used {
            Some((_, at)) => now >= at.saturating_add(REMEMBERED),
            None => now >= self.made.saturating_add(HOLDS),
        }
    }
}

/// What a client shows to have a code exchanged.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) code: &'a str,
    pub(crate) client: &'a str,
    pub(crate) redirect: Option<&'a str>,
    pub(crate) verifier: &'a str,
    pub(crate) resource: Option<&'a Route>,
}

/// Returns true where the challenge is the digest of the verifier (RFC 7636 §4.6).
fn fits(verifier: &str, challenge: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let is_verifier = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_part);
    let computed = URL_SAFE_NO_PAD.encode(Digest::of(verifier.as_bytes()).as_bytes());
    is_verifier && bool::from(computed.as_bytes().ct_eq(challenge.as_bytes()))
}

impl Grants {
    /// Gives out a code for a consent.
    pub(crate) fn give_code(&self, consent: Consent, now: Moment) -> Result<Secret, NoRandomness> {
        let secret = mint(Kind::Code)?;
        let mut state = self.state();
        state.forget_codes(now);
        let own = state.codes.iter().filter(|(_, entry)| entry.consent.client == consent.client);
        let too_many = own.clone().count() >= MOST_OF_CLIENT || state.codes.len() >= MOST;
        let oldest = own.min_by_key(|(_, entry)| entry.made).map(|(digest, _)| *digest).filter(|_| too_many);
        if let Some(oldest) = oldest {
            state.codes.remove(&oldest);
        }
        state.codes.insert(digest(secret.expose()), CodeEntry { consent, made: now, failures: 0, used: None });
        Ok(secret)
    }
}

impl State {
    pub(super) fn forget_codes(&mut self, now: Moment) {
        self.codes.retain(|_, entry| !entry.is_over(now));
    }

    /// Checks what a client shows. With a refusal comes the family that ends, where a used code is shown by whoever could
    /// have used it: anybody else would end families of others by showing what they found.
    pub(super) fn check_code(&mut self, shown: &Shown<'_>, now: Moment) -> Result<Consent, (Denied, Option<u128>)> {
        let invalid = (Denied::Invalid, None);
        let digest = digest(shown.code);
        let entry = self.codes.get_mut(&digest).ok_or(invalid)?;
        let is_elsewhere = shown.redirect.is_some_and(|redirect| redirect != entry.consent.redirect);
        if entry.consent.client != shown.client || entry.is_over(now) || is_elsewhere {
            return Err(invalid);
        }
        if !fits(shown.verifier, &entry.consent.challenge) {
            entry.failures = entry.failures.saturating_add(1);
            if entry.failures >= MOST_FAILURES && entry.used.is_none() {
                self.codes.remove(&digest);
            }
            return Err(invalid);
        }
        if let Some((family, _)) = entry.used {
            return Err((Denied::Replayed, Some(family)));
        }
        if shown.resource.is_some_and(|resource| *resource != entry.consent.route) {
            return Err((Denied::Target, None));
        }
        Ok(entry.consent.clone())
    }

    /// Notes that a code was used.
    pub(super) fn use_code(&mut self, shown: &Shown<'_>, family: u128, now: Moment) {
        if let Some(entry) = self.codes.get_mut(&digest(shown.code)) {
            entry.used = Some((family, now));
        }
    }
}

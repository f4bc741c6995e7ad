//! The `requestState` that a client brings back: sealed, so that nobody but this process can make or change one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::Digest;
use portcullis_model::json::{Object, Value};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// A sealed state is 64 bytes before base64; nothing longer is looked at.
const LONGEST: usize = 128;
/// What is sealed: the exchange, its round, and when the state ends.
const CONTENT: usize = 8 + 4 + 8;

/// Which exchange a client goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    /// The exchange.
    pub(super) exchange: u64,
    /// The round that the client answers.
    pub(super) round: u32,
}

/// No state of this process for this request, or one that has ended. Which of them is nobody's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request state is not valid for this request")]
pub(super) struct Foreign;

/// The system gave no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no randomness to seal a request state with")]
pub(super) struct Unsealable;

/// The key of this process. A state of an earlier process is worth nothing, and neither is the call that it was for.
pub(super) struct Seal(Option<LessSafeKey>);

impl Seal {
    /// Makes a key. Without randomness there is none, and nothing is ever sealed.
    pub(super) fn new() -> Self {
        let mut key = [0_u8; 32];
        let filled = getrandom::fill(&mut key).is_ok();
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).ok().filter(|_| filled);
        Self(key.map(LessSafeKey::new))
    }

    /// Seals a handle for one request, for so long.
    ///
    /// Nonces are random: 96 bits, and a process seals far fewer than the 2^32 states up to which that is safe.
    pub(super) fn seal(&self, handle: Handle, binding: &Digest, lasts: Duration) -> Result<String, Unsealable> {
        let key = self.0.as_ref().ok_or(Unsealable)?;
        let mut nonce = [0_u8; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| Unsealable)?;
        let ends = now().saturating_add(lasts).as_secs();
        let mut content = Vec::with_capacity(CONTENT + CHACHA20_POLY1305.tag_len());
        content.extend_from_slice(&handle.exchange.to_be_bytes());
        content.extend_from_slice(&handle.round.to_be_bytes());
        content.extend_from_slice(&ends.to_be_bytes());
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(binding.as_bytes().as_slice()),
            &mut content,
        )
        .map_err(|_| Unsealable)?;
        let mut sealed = nonce.to_vec();
        sealed.append(&mut content);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens the state that came with a request.
    pub(super) fn open(&self, state: &str, binding: &Digest) -> Result<Handle, Foreign> {
        let key = self.0.as_ref().ok_or(Foreign)?;
        if state.len() > LONGEST {
            return Err(Foreign);
        }
        let mut sealed = URL_SAFE_NO_PAD.decode(state).map_err(|_| Foreign)?;
        let (nonce, content) = sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(Foreign)?;
        let aad = Aad::from(binding.as_bytes().as_slice());
        let content = key.open_in_place(Nonce::assume_unique_for_key(*nonce), aad, content).map_err(|_| Foreign)?;
        let (exchange, content) = content.split_first_chunk::<8>().ok_or(Foreign)?;
        let (round, content) = content.split_first_chunk::<4>().ok_or(Foreign)?;
        let ends = content.first_chunk::<8>().ok_or(Foreign)?;
        if u64::from_be_bytes(*ends) < now().as_secs() {
            return Err(Foreign);
        }
        Ok(Handle { exchange: u64::from_be_bytes(*exchange), round: u32::from_be_bytes(*round) })
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns what a state is bound to: whose request it is, its method, and its parameters but for what differs between two
/// rounds. They name what is called, so they bind the server as well.
pub(super) fn binding(owner: &str, method: &str, params: &Object) -> Digest {
    let mut params = params.clone();
    for key in ["inputResponses", "requestState", "_meta"] {
        params.remove(key);
    }
    let params = Value::from(params).to_canonical();
    let parts: [&[u8]; 3] = [owner.as_bytes(), method.as_bytes(), params.as_bytes()];
    Digest::of_parts(parts)
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    const HANDLE: Handle = Handle { exchange: 7, round: 2 };
    const LASTS: Duration = Duration::from_mins(1);

    fn bound(owner: &str, method: &str, params: &str) -> Digest {
        let Value::Object(params) = parse_str(params).unwrap() else { panic!("an object") };
        binding(owner, method, &params)
    }

    #[test]
    fn a_state_opens_for_the_request_that_it_was_made_for() {
        let seal = Seal::new();
        let state = seal
            .seal(HANDLE, &bound("local", "tools/call", r#"{"name":"t","arguments":{"a":1,"b":2}}"#), LASTS)
            .unwrap();
        let retry = r#"{"arguments":{"b":2,"a":1},"name":"t","_meta":{"x":1},"inputResponses":{},"requestState":"s"}"#;
        assert_eq!(seal.open(&state, &bound("local", "tools/call", retry)), Ok(HANDLE));
    }

    #[test]
    fn no_state_opens_for_another_owner_method_or_parameter_nor_after_its_time() {
        let seal = Seal::new();
        let binding = bound("local", "tools/call", r#"{"name":"a"}"#);
        let state = seal.seal(HANDLE, &binding, LASTS).unwrap();
        for other in [
            bound("other", "tools/call", r#"{"name":"a"}"#),
            bound("local", "prompts/get", r#"{"name":"a"}"#),
            bound("local", "tools/call", r#"{"name":"b"}"#),
            bound("local", "tools/call", r#"{"name":"a","arguments":{}}"#),
        ] {
            assert_eq!(seal.open(&state, &other), Err(Foreign));
        }
        assert_eq!(Seal::new().open(&state, &binding), Err(Foreign), "another process");
        let mut content = seal.seal(HANDLE, &binding, Duration::ZERO).unwrap();
        std::thread::sleep(Duration::from_millis(1_100));
        assert_eq!(seal.open(&content, &binding), Err(Foreign), "it has ended");
        content.clear();
        assert_eq!(seal.open(&content, &binding), Err(Foreign));
    }

    #[test]
    fn a_state_with_any_character_changed_opens_for_nobody() {
        let seal = Seal::new();
        let binding = bound("local", "tools/call", "{}");
        let state = seal.seal(HANDLE, &binding, LASTS).unwrap();
        for position in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            assert_eq!(seal.open(&String::from_utf8(changed).unwrap(), &binding), Err(Foreign), "{position}");
        }
        assert_eq!(seal.open(&state.repeat(3), &binding), Err(Foreign));
    }
}

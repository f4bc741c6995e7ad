//! Secrets that are made here: tokens, codes, client secrets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::{Digest, Secret};

/// Random bytes of a secret: 256 bits (RFC 6749 §10.10 asks for 128 at least).
const BYTES: usize = 32;

/// There is no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

/// What a secret is for. Each begins with a text of its own, by which scanners recognise one that leaked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A token with a name, which the operator made.
    Named,
    /// An access token.
    Access,
    /// A refresh token.
    Refresh,
    /// An authorization code.
    Code,
    /// A client's secret.
    Client,
}

impl Kind {
    /// Returns the text that secrets of the kind begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Named => "ptc_t_",
            Self::Access => "ptc_a_",
            Self::Refresh => "ptc_r_",
            Self::Code => "ptc_c_",
            Self::Client => "ptc_s_",
        }
    }
}

/// Makes a secret.
pub(crate) fn mint(kind: Kind) -> Result<Secret, NoRandomness> {
    Ok(Secret::new(format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(random::<BYTES>()?))))
}

/// Returns random bytes.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], NoRandomness> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Returns what is kept of a secret. It has 256 random bits, so that one round of a hash gives nothing away.
pub(crate) fn digest(secret: &str) -> Digest {
    Digest::of(secret.as_bytes())
}

//! The token that a client shows with each request (RFC 6750).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use subtle::ConstantTimeEq as _;

/// Bytes of the key that a token is made of.
const KEY: usize = 32;

/// A bearer token: 256 random bits as 43 characters of base64url. Never shown by accident.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// Returns the token that is made of a key.
    pub fn from_key(key: &[u8; KEY]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(key))
    }

    /// Returns the token itself, to be given to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns true where the value of an `Authorization` header holds the token. How long it takes tells nothing about
    /// where the two differ.
    pub(super) fn is_in(&self, authorization: &HeaderValue) -> bool {
        let Some((scheme, token)) = authorization.as_bytes().split_at_checked("Bearer ".len()) else {
            return false;
        };
        // The scheme is no secret and is written in any case (RFC 9110 §11.1).
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BearerToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_under_its_scheme_is_taken() {
        let token = BearerToken::from_key(&[7; KEY]);
        assert_eq!(token.reveal().len(), 43);
        let other = BearerToken::from_key(&[8; KEY]);
        let header = |text: String| HeaderValue::from_str(&text).unwrap();
        for scheme in ["Bearer", "bearer", "BEARER"] {
            assert!(token.is_in(&header(format!("{scheme} {}", token.reveal()))));
        }
        let cut = &token.reveal()[..42];
        let wrong = [
            format!("Bearer {}", other.reveal()),
            format!("Bearer {cut}"),
            format!("Bearer {}x", token.reveal()),
            format!("Bearer  {}", token.reveal()),
            format!("Basic {}", token.reveal()),
            format!("Bearer{}", token.reveal()),
            token.reveal().to_owned(),
            "Bearer ".to_owned(),
            String::new(),
        ];
        for text in wrong {
            assert!(!token.is_in(&header(text.clone())), "{text}");
        }
    }

    #[test]
    fn it_is_not_shown_by_accident() {
        let token = BearerToken::from_key(&[7; KEY]);
        assert!(!format!("{token:?}").contains(token.reveal()));
    }
}

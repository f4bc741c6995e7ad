//! JSON web tokens (RFC 7519): three base64url parts, the first of which begins with `{"`.

use std::ops::Range;

use super::alphabet::Alphabet;
use super::{Secret, value};
use crate::rules;

/// Looks at a hit of `eyJ`.
pub(super) fn look(text: &str, hit: Range<usize>) -> Option<Secret> {
    /// Tokens travel in headers, which servers cut at 8 to 16 KiB.
    const LONGEST: usize = 16 * 1024;
    if text.get(hit.clone())? != "eyJ" || !value::begins_word(text.as_bytes(), hit.start) {
        return None;
    }
    let rest = text.as_bytes().get(hit.start..text.len().min(hit.start + LONGEST))?;
    let length = rest.iter().take_while(|byte| Alphabet::Dotted.has(**byte)).count();
    let token = text.get(hit.start..hit.start + length)?.trim_end_matches(['.', '-']);
    let mut parts = token.split('.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
    // Shortest header `{"alg":"none"}` and shortest useful claims; an unsigned token has no third part.
    let fits = header.len() >= 16
        && claims.len() >= 10
        && (signature.len() >= 16 || signature.is_empty() && claims.starts_with("eyJ"));
    fits.then(|| Secret {
        range: hit.start..hit.start + token.len(),
        rule: rules::credentials::JWT,
        name: "JSON web token".to_owned(),
    })
}

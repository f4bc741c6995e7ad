//! Passwords inside URLs: `scheme://user:password@host` (RFC 3986 §3.2.1).

use std::ops::Range;

use super::{Secret, Strictness, value};
use crate::rules;

/// Looks at a hit of `://`.
pub(super) fn look(text: &str, hit: Range<usize>, strictness: Strictness) -> Option<Secret> {
    /// Names of hosts and users are short; a longer authority is no authority.
    const LONGEST: usize = 512;
    let rest = text.as_bytes().get(hit.end..text.len().min(hit.end + LONGEST))?;
    let length = rest
        .iter()
        .take_while(|byte| {
            !byte.is_ascii_whitespace()
                && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b')' | b'\\')
        })
        .count();
    let authority = text.get(hit.end..hit.end + length)?;
    let (login, host) = authority.rsplit_once('@')?;
    let (user, password) = login.split_once(':')?;
    if password.is_empty() || host.is_empty() {
        return None;
    }
    let taken = match strictness {
        Strictness::Eager => !value::is_placeholder(password) || matches!(password, "pass" | "password" | "secret"),
        Strictness::Careful => (!value::is_placeholder(password) || password == "pass") && password.len() >= 4,
    };
    let start = hit.end + user.len() + 1;
    taken.then(|| Secret {
        range: start..start + password.len(),
        rule: rules::credentials::USERINFO,
        name: "password in a URL".to_owned(),
    })
}

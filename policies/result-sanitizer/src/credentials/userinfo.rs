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
        Strictness::Careful => {
            !value::is_placeholder(password) && password != user && !is_stock(user, password) && password.len() >= 4
        }
    };
    let start = hit.end + user.len() + 1;
    taken.then(|| Secret {
        range: start..start + password.len(),
        rule: rules::credentials::USERINFO,
        name: "password in a URL".to_owned(),
    })
}

/// True for the pairs that documentation uses.
fn is_stock(user: &str, password: &str) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase();
    let (user, password) = (plain(user), plain(password));
    matches!(
        user.as_str(),
        "user" | "username" | "admin" | "root" | "postgres" | "guest" | "test" | "foo" | "name" | "usr" | "login"
    ) && (password.starts_with("pass")
        || password.starts_with("pwd")
        || matches!(
            password.as_str(),
            "secret" | "postgres" | "root" | "admin" | "guest" | "test" | "bar" | "mysecretpassword" | "port"
        ))
}

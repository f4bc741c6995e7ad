//! The token that a request shows (RFC 6750 §2.1).

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::named::LONGEST;

/// What a request shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// Nothing.
    Nothing,
    /// What looks like a bearer token.
    Token(&'a str),
    /// Credentials of another kind.
    Other,
    /// What cannot be read: several headers, or what is no header of this kind.
    Malformed,
}

/// Returns what a request shows. A token in its body or its address is never looked at.
pub(crate) fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Shown::Nothing,
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Shown::Malformed,
    };
    let Ok(value) = value.to_str() else { return Shown::Malformed };
    // The scheme is written in any case (RFC 9110 §11.1).
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("Bearer") => {
            if is_token(token) {
                Shown::Token(token)
            } else {
                Shown::Malformed
            }
        }
        None if value.eq_ignore_ascii_case("Bearer") => Shown::Malformed,
        Some(_) | None => Shown::Other,
    }
}

/// RFC 9110 §11.2: `token68`, of a length that any of ours has.
fn is_token(token: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/');
    let body = token.trim_end_matches('=');
    !body.is_empty() && token.len() <= LONGEST && body.bytes().all(is_part)
}

/// Returns true where the address of a request holds a token, as RFC 6750 §2.3 once allowed.
pub(crate) fn is_in_query(query: Option<&str>) -> bool {
    query.is_some_and(|query| {
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| matches!(name.as_ref(), "access_token" | "token"))
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_bearer_token_is_one_word_after_its_scheme_in_any_case() {
        for value in ["Bearer abc-._~+/9==", "bearer abc-._~+/9==", "BEARER abc-._~+/9=="] {
            assert!(shown(&with(&[value])) == Shown::Token("abc-._~+/9=="), "{value}");
        }
        let long = format!("Bearer {}", "a".repeat(513));
        for value in ["Bearer", "Bearer ", "Bearer  abc", "Bearer a b", "Bearer a,b", "Bearer =", "Bearer a=b", &long] {
            assert!(shown(&with(&[value])) == Shown::Malformed, "{value}");
        }
        for value in ["Basic YTpi", "Bearerabc", "", "abc"] {
            assert!(shown(&with(&[value])) == Shown::Other, "{value}");
        }
        assert!(shown(&with(&[])) == Shown::Nothing);
        assert!(shown(&with(&["Bearer abc", "Bearer abc"])) == Shown::Malformed, "two are a trick");
    }

    #[test]
    fn a_token_in_the_address_is_noticed_however_it_is_written() {
        for query in ["access_token=a", "a=b&access_token=", "%61ccess_token=a", "token=a"] {
            assert!(is_in_query(Some(query)), "{query}");
        }
        assert!(!is_in_query(Some("tokens=a")) && !is_in_query(None));
    }
}

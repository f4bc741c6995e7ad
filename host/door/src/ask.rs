//! What a client asks for at `/authorize` (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2).

use portcullis_model::Digest;

use crate::form::Form;
use crate::redirect::RedirectUri;
use crate::refusal::SCOPE;
use crate::route::{PublicUrl, Route};

/// The parameters that make a request what it is.
pub(crate) const PARAMETERS: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "scope",
    "resource",
    "code_challenge",
    "code_challenge_method",
];

/// Longest `state`: clients put 43 to 200 characters into it.
const LONGEST_STATE: usize = 512;
/// Longest `scope`.
const LONGEST_SCOPE: usize = 1_024;
/// Longest id of a client: one that registered itself carries its registration in it.
pub(crate) const LONGEST_CLIENT_ID: usize = 2_048;
/// Characters of a challenge: a SHA-256 digest in base64url (RFC 7636 §4.2).
const CHALLENGE: usize = 43;

/// What a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) redirect: RedirectUri,
    pub(crate) state: Option<String>,
    pub(crate) challenge: String,
    pub(crate) route: Route,
}

/// What is wrong with a request, as its client is told (RFC 6749 §4.1.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) code: &'static str,
    pub(crate) text: &'static str,
}

fn wrong<T>(code: &'static str, text: &'static str) -> Result<T, Wrong> {
    Err(Wrong { code, text })
}

/// Returns the digest of a request: of all that makes it what it is.
pub(crate) fn digest(form: &Form) -> Digest {
    Digest::of_parts(PARAMETERS.iter().map(|name| form.get(name).unwrap_or_default().as_bytes()))
}

/// Returns the state of a request, where it is one that may be sent back.
pub(crate) fn state(form: &Form) -> Option<&str> {
    form.get("state").filter(|state| {
        // RFC 6749 appendix A.5: visible characters of ASCII, and spaces.
        state.len() <= LONGEST_STATE && state.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
    })
}

/// Reads a request whose client and redirect address are good.
pub(crate) fn read(form: &Form, redirect: RedirectUri, url: &PublicUrl) -> Result<Ask, Wrong> {
    if form.repeats_any() {
        return wrong("invalid_request", "a parameter is there twice, or there are too many");
    }
    let state = state(form);
    if form.get("state").is_some() && state.is_none() {
        return wrong("invalid_request", "state has at most 512 visible characters");
    }
    if form.get("request").is_some() {
        return wrong("request_not_supported", "requests are sent as parameters");
    }
    if form.get("request_uri").is_some() {
        return wrong("request_uri_not_supported", "requests are sent as parameters");
    }
    match form.get("response_type") {
        Some("code") => {}
        Some(_) => return wrong("unsupported_response_type", "response_type must be code"),
        None => return wrong("invalid_request", "response_type is missing"),
    }
    if form.get("response_mode").is_some_and(|mode| mode != "query") {
        return wrong("invalid_request", "response_mode must be query");
    }
    if form.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none")) {
        return wrong("interaction_required", "the operator is always asked");
    }
    // What is left out means `plain` (RFC 7636 §4.3), which is refused.
    if form.get("code_challenge_method") != Some("S256") {
        return wrong("invalid_request", "code_challenge_method must be S256");
    }
    let is_digest = |challenge: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        challenge.len() == CHALLENGE && challenge.bytes().all(is_part)
    };
    let Some(challenge) = form.get("code_challenge").filter(|challenge| is_digest(challenge)) else {
        return wrong("invalid_request", "code_challenge must be the SHA-256 digest of the verifier in base64url");
    };
    if form.get("scope").is_some_and(|scope| !is_scope(scope)) {
        return wrong("invalid_scope", "the only scope is mcp");
    }
    let route = match form.get("resource") {
        None => None,
        Some(resource) => match url.route_of(resource) {
            Some(route) => route,
            None => return wrong("invalid_target", "resource must be one of this server"),
        },
    };
    Ok(Ask { redirect, state: state.map(str::to_owned), challenge: challenge.to_owned(), route })
}

/// Returns true for a scope that may be asked for.
pub(crate) fn is_scope(scope: &str) -> bool {
    scope.len() <= LONGEST_SCOPE && scope.split(' ').filter(|word| !word.is_empty()).all(|word| word == SCOPE)
}

#[cfg(test)]
mod tests {
    use portcullis_model::ServerName;

    use super::*;

    const GOOD: &str = "response_type=code&client_id=c&state=s%20t&scope=mcp&code_challenge_method=S256\
        &code_challenge=0123456789abcdefghijABCDEFGHIJ0123456789-_x";

    fn read(query: &str) -> Result<Ask, &'static str> {
        let url = PublicUrl::parse("https://gateway.example").unwrap();
        let redirect = RedirectUri::parse("https://app.example/callback").unwrap();
        super::read(&Form::parse(query.as_bytes()), redirect, &url).map_err(|wrong| wrong.code)
    }

    #[test]
    fn a_good_request_is_for_one_route() {
        let ask = read(GOOD).unwrap();
        assert_eq!((ask.state.as_deref(), ask.route), (Some("s t"), None));
        let ask = read(&format!("{GOOD}&resource=https%3A%2F%2FGATEWAY.example%2Fmcp%2Ffiles%2F")).unwrap();
        assert_eq!(ask.route, Some(ServerName::parse("files").unwrap()));
        assert!(read(&format!("{GOOD}&resource=&response_mode=query&nonce=x")).is_ok(), "empty is not there");
    }

    #[test]
    fn what_is_wrong_is_told_by_its_code() {
        let challenge = "&code_challenge=0123456789abcdefghijABCDEFGHIJ0123456789-_x";
        let long = "a".repeat(513);
        for (from, to, code) in [
            ("response_type=code", "", "invalid_request"),
            ("response_type=code", "response_type=token", "unsupported_response_type"),
            ("response_type=code", "response_type=code%20token", "unsupported_response_type"),
            ("code_challenge_method=S256", "", "invalid_request"),
            ("code_challenge_method=S256", "code_challenge_method=plain", "invalid_request"),
            (challenge, "", "invalid_request"),
            (challenge, "&code_challenge=short", "invalid_request"),
            ("89-_x", "89-_%0a", "invalid_request"),
            ("89-_x", "89-_xy", "invalid_request"),
            ("89-_x", "89-_=", "invalid_request"),
            ("scope=mcp", "scope=admin", "invalid_scope"),
            ("scope=mcp", "scope=mcp%20offline_access", "invalid_scope"),
            ("state=s%20t", "state=a%0d%0ab", "invalid_request"),
            ("state=s%20t", &format!("state={long}"), "invalid_request"),
            ("state=s%20t", "state=%C3%A9", "invalid_request"),
            ("state=s%20t", "state=a&state=b", "invalid_request"),
            ("state=s%20t", "resource=https://evil.example/mcp", "invalid_target"),
            ("state=s%20t", "resource=https://gateway.example", "invalid_target"),
            ("state=s%20t", "request=e30", "request_not_supported"),
            ("state=s%20t", "request_uri=https://app.example/r", "request_uri_not_supported"),
            ("state=s%20t", "prompt=none", "interaction_required"),
            ("state=s%20t", "response_mode=fragment", "invalid_request"),
        ] {
            let query = GOOD.replace(from, to);
            assert_ne!(query, GOOD);
            assert_eq!(read(&query).map(|_| ()), Err(code), "{query}");
        }
    }

    #[test]
    fn every_parameter_that_makes_a_request_is_in_its_digest() {
        let of = |query: &str| digest(&Form::parse(query.as_bytes()));
        for name in PARAMETERS {
            assert_ne!(of(&format!("{name}=a")), of(&format!("{name}=b")), "{name}");
        }
        assert_eq!(of("client_id=a&unknown=b"), of("unknown=c&client_id=a"));
    }
}

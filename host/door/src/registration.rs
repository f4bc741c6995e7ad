//! Clients that register themselves (RFC 7591). Nothing is kept: the id that such a client gets is its registration, with a
//! tag of ours (RFC 7591 appendix A.5.2 knows such), so that no number of registrations fills a table.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::json::{Limits, Value, parse_with};
use portcullis_model::object;

use crate::ask::LONGEST_CLIENT_ID;
use crate::client::{Client, Known, LONGEST_NAME};
use crate::clock::Moment;
use crate::redirect::{Place, RedirectUri};
use crate::seal::Seal;
use crate::shown::readable;

/// What ids of such clients begin with.
const PREFIX: &str = "dcr-";
/// So many addresses such a client may be led back to.
const MOST_REDIRECTS: usize = 5;
/// A registration holds for 90 days.
const HOLDS: Moment = 90 * 24 * 3_600 * 1_000;
/// What is being registered is a JSON text of this length at most.
const LONGEST: usize = 16 * 1024;

/// Why a client was not registered (RFC 7591 §3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) text: &'static str,
}

const METADATA: &str = "invalid_client_metadata";
const REDIRECT: &str = "invalid_redirect_uri";

/// Registers a client, and returns what it is told. Whatever it asks for, it gets no secret: what everybody may have on
/// asking proves nothing.
pub(crate) fn register(body: &[u8], seal: &Seal, now: Moment) -> Result<Value, Refused> {
    let refused = |code, text| Err(Refused { code, text });
    let Ok(wish) = parse_with(body, Limits { bytes: LONGEST, depth: 16 }) else {
        return refused(METADATA, "the body must be a JSON object");
    };
    let Some(uris) = wish.get("redirect_uris").and_then(Value::as_array) else {
        return refused(REDIRECT, "redirect_uris is missing");
    };
    if !(1..=MOST_REDIRECTS).contains(&uris.len()) {
        return refused(REDIRECT, "there must be one to five redirect_uris");
    }
    for uri in uris {
        match uri.as_str().map(RedirectUri::parse) {
            Some(Ok(uri)) if !matches!(uri.place(), Place::App(_)) => {}
            _ => return refused(REDIRECT, "a redirect URI is https, or http on 127.0.0.1, [::1] or localhost"),
        }
    }
    let has = |key: &str, needed: &str| {
        let given = wish.get(key).and_then(Value::as_array);
        given.is_none_or(|given| given.iter().any(|item| item.as_str() == Some(needed)))
    };
    if !has("grant_types", "authorization_code") || !has("response_types", "code") {
        return refused(METADATA, "only authorization codes are given");
    }
    let name = readable(wish.get("client_name").and_then(Value::as_str).unwrap_or_default(), LONGEST_NAME);
    let seconds = now / 1_000;
    let kept = object! { "n" => name.as_str(), "r" => uris.to_vec(), "t" => seconds };
    let kept = URL_SAFE_NO_PAD.encode(Value::from(kept).to_json());
    let id = format!("{PREFIX}{kept}.{}", seal.text("registration", &[kept.as_bytes()]));
    if id.len() > LONGEST_CLIENT_ID {
        return refused(METADATA, "name and redirect URIs are too long together");
    }
    let texts = |texts: &[&str]| texts.iter().map(|&text| Value::from(text)).collect::<Vec<_>>();
    Ok(object! {
        "client_id" => id,
        "client_id_issued_at" => seconds,
        "client_name" => name,
        "redirect_uris" => uris.to_vec(),
        "grant_types" => texts(&["authorization_code", "refresh_token"]),
        "response_types" => texts(&["code"]),
        "token_endpoint_auth_method" => "none",
    }
    .into())
}

/// Returns the client that registered itself under an id; nothing where the id is none of ours, or too old.
pub(crate) fn known(id: &str, seal: &Seal, now: Moment) -> Option<Client> {
    let (kept, tag) = id.strip_prefix(PREFIX)?.split_once('.')?;
    if id.len() > LONGEST_CLIENT_ID || !seal.is_tag("registration", &[kept.as_bytes()], tag) {
        return None;
    }
    let kept = URL_SAFE_NO_PAD.decode(kept).ok()?;
    let kept = parse_with(&kept, Limits { bytes: LONGEST_CLIENT_ID, depth: 8 }).ok()?;
    let since = kept.get("t")?.as_u64()?.saturating_mul(1_000);
    let redirects = kept.get("r")?.as_array()?.iter();
    let client = Client {
        id: id.to_owned(),
        name: kept.get("n")?.as_str()?.to_owned(),
        redirects: redirects.map(|uri| RedirectUri::parse(uri.as_str()?).ok()).collect::<Option<_>>()?,
        known: Known::Itself,
        secret: None,
    };
    (now < since.saturating_add(HOLDS)).then_some(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = 1_800_000_000_000;

    fn register(body: &str) -> Result<Value, &'static str> {
        super::register(body.as_bytes(), &Seal::new(&[7; 32]), NOW).map_err(|refused| refused.code)
    }

    #[test]
    fn an_id_is_the_registration_and_holds_for_ninety_days() {
        let told = register(
            r#"{"redirect_uris":["http://localhost:3000/cb"],"client_name":"A\u202e b","token_endpoint_auth_method":"client_secret_post"}"#,
        )
        .unwrap();
        assert_eq!(told.get("token_endpoint_auth_method").and_then(Value::as_str), Some("none"));
        assert!(told.get("client_secret").is_none());
        let id = told.get("client_id").and_then(Value::as_str).unwrap();
        let seal = Seal::new(&[7; 32]);
        let client = known(id, &seal, NOW).unwrap();
        assert_eq!((client.name.as_str(), client.redirects[0].as_str()), ("A b", "http://localhost:3000/cb"));
        assert!(known(id, &seal, NOW + HOLDS).is_none() && known(id, &Seal::new(&[8; 32]), NOW).is_none());
        let other = id.replacen(char::from(id.as_bytes()[10]), "_", 1);
        assert!(known(&other, &seal, NOW).is_none(), "nobody changes it");
        assert!(known("dcr-", &seal, NOW).is_none() && known("dcr-a.b", &seal, NOW).is_none());
    }

    #[test]
    fn what_cannot_be_registered_is_told_by_its_code() {
        let long = format!(r#"{{"redirect_uris":["https://app.example/{}"]}}"#, "a".repeat(1_900));
        let many = format!(r#"{{"redirect_uris":[{}]}}"#, [r#""https://app.example/""#; 6].join(","));
        for (body, code) in [
            ("", METADATA),
            ("[]", REDIRECT),
            ("{}", REDIRECT),
            (r#"{"redirect_uris":[]}"#, REDIRECT),
            (r#"{"redirect_uris":[1]}"#, REDIRECT),
            (r#"{"redirect_uris":["http://app.example/"]}"#, REDIRECT),
            (r#"{"redirect_uris":["app://callback/"]}"#, REDIRECT),
            (r#"{"redirect_uris":["https://app.example/"],"grant_types":["client_credentials"]}"#, METADATA),
            (r#"{"redirect_uris":["https://app.example/"],"response_types":["token"]}"#, METADATA),
            (&long, METADATA),
            (&many, REDIRECT),
        ] {
            assert_eq!(register(body).map(|_| ()), Err(code), "{body}");
        }
    }
}

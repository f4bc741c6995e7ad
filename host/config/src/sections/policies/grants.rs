//! `grants` of a policy: what it may use besides settings, packs, subject and facts.

use std::net::IpAddr;

use portcullis_model::{CapabilityGrants, HttpGrant, HttpOrigin};

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, nearest, wrong_type};
use crate::sink::Mistake;

/// Reads `grants`. What is written wrongly is not granted.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<CapabilityGrants> {
    let node = fields.get("grants")?;
    let path = fields.path.key("grants");
    if node.members().is_none() {
        fields.report("grants", node.place, wrong_type("a map", node).hint("write `grants: {http: {hosts: [NAME]}}`"));
        return None;
    }
    let mut inner = Fields::new(node, path.clone(), fields.sink);
    let (sees_secrets, sees_payload) = sees(&mut inner);
    let http = inner.get("http");
    inner.finish();
    let http = http.map(|node| http_grant(Fields::new(node, path.key("http"), fields.sink)));
    Some(CapabilityGrants { http, sees_secrets, sees_payload })
}

fn sees(fields: &mut Fields<'_, '_>) -> (bool, bool) {
    let (mut secrets, mut payload) = (false, false);
    for word in fields.texts("sees").unwrap_or_default() {
        match word.as_str() {
            "secrets" => secrets = true,
            "payload" => payload = true,
            other => {
                let near = nearest(other, ["secrets", "payload"].into_iter());
                let mistake = Mistake::error(DiagnosticKind::BadValue, "expected `secrets` or `payload`")
                    .maybe_hint(near.map(|near| format!("did you mean `{near}`?")));
                let place = fields.place_of("sees");
                fields.report("sees", place, mistake);
            }
        }
    }
    (secrets, payload)
}

fn http_grant(mut fields: Fields<'_, '_>) -> HttpGrant {
    let usual = HttpGrant::default();
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(MOST_BYTES);
    let grant = HttpGrant {
        hosts: parsed(&mut fields, "hosts", |text| HttpOrigin::parse(text).map_err(|error| error.to_string())),
        addresses: parsed(&mut fields, "addresses", |text| {
            text.parse::<IpAddr>().map_err(|_no_address| "is no IP address".to_owned())
        }),
        timeout: fields.seconds("timeout").unwrap_or(usual.timeout),
        wall: fields.seconds("wall").unwrap_or(usual.wall),
        requests: fields.count("requests", 1).map_or(usual.requests, |count| u32::try_from(count).unwrap_or(u32::MAX)),
        request_bytes: fields.count("request_bytes", 0).map_or(usual.request_bytes, bytes),
        response_bytes: fields.count("response_bytes", 1).map_or(usual.response_bytes, bytes),
        cache: fields.seconds_or_off("cache").map_or(usual.cache, Option::unwrap_or_default),
    };
    fields.finish();
    grant
}

/// Bodies are held in memory whole: no more of one than a message may have.
const MOST_BYTES: usize = 16 * 1024 * 1024;

fn parsed<T>(fields: &mut Fields<'_, '_>, key: &'static str, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
    let mut all = Vec::new();
    for text in fields.texts(key).unwrap_or_default() {
        match parse(&text) {
            Ok(value) => all.push(value),
            Err(why) => {
                let place = fields.place_of(key);
                let message = format!("`{}` {why}", text.escape_debug());
                fields.report(key, place, Mistake::error(DiagnosticKind::BadValue, message));
            }
        }
    }
    all
}

//! Responses of the front door itself.

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, PRAGMA, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use portcullis_model::json::Value;
use portcullis_model::object;

/// A response of the front door.
pub type Reply = Response<Vec<u8>>;

/// What a page may do: show itself, and send its form to us. Nothing is loaded, nothing runs, nobody may frame it.
///
/// Browsers hold the redirect after a form to `form-action` as well, and it leads to the client: a page with a form names
/// that one place too.
pub(crate) fn page_policy(form_target: Option<&str>) -> String {
    let (space, target) = form_target.map_or(("", ""), |target| (" ", target));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'{space}{target}; frame-ancestors 'none'; \
         base-uri 'none'"
    )
}

static OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

fn with(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    reply
}

/// Answers with JSON that nobody may keep.
pub(crate) fn json(status: StatusCode, value: impl Into<Value>) -> Reply {
    let mut body = Vec::new();
    value.into().write_to(&mut body);
    with(status, "application/json", body)
}

/// Answers with a document that is the same for everybody.
pub(crate) fn document(value: impl Into<Value>) -> Reply {
    let mut reply = json(StatusCode::OK, value);
    // Short: what it says changes with the config.
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    reply.headers_mut().remove(PRAGMA);
    reply
}

/// Answers with an error of OAuth (RFC 6749 §5.2). The text is one of ours and never depends on the request.
pub(crate) fn error(status: StatusCode, code: &str, text: &str) -> Reply {
    json(status, object! { "error" => code, "error_description" => text })
}

/// Answers with a page.
pub(crate) fn page(status: StatusCode, html: String) -> Reply {
    let mut reply = with(status, "text/html; charset=utf-8", html.into_bytes());
    let headers = reply.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&page_policy(None)) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(OPENER_POLICY.clone(), HeaderValue::from_static("same-origin"));
    reply
}

/// Leads the browser on. Whatever it sent is not sent on (RFC 9700 §4.12).
pub(crate) fn see_other(location: &str) -> Option<Reply> {
    let mut reply = with(StatusCode::SEE_OTHER, "text/plain", Vec::new());
    reply.headers_mut().insert(LOCATION, HeaderValue::from_str(location).ok()?);
    Some(reply)
}

/// Answers who asks too often.
pub(crate) fn too_often(seconds: u64) -> Reply {
    let mut reply = error(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", "too many requests from there");
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    reply
}

/// Refuses a method that an address does not have.
pub(crate) fn wrong_method(offered: &[Method]) -> Reply {
    let mut reply = error(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this method is not offered here");
    let offered: Vec<&str> = offered.iter().map(Method::as_str).collect();
    if let Ok(offered) = HeaderValue::from_str(&offered.join(", ")) {
        reply.headers_mut().insert(ALLOW, offered);
    }
    reply
}

/// Answers where there is nothing.
pub(crate) fn not_found() -> Reply {
    error(StatusCode::NOT_FOUND, "not_found", "there is nothing here")
}

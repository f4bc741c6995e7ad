//! # elicitation-url
//!
//! **What it does.** Refuses to send the user to a URL, unless the settings name its host; then it asks. The URL has to be `https`, without
//! user name, without anything but ASCII, so that what is shown is where it leads.
//!
//! **Why.** A link that comes from within the user's own client is believed. It is the shortest way to a page that asks for a password.
//!
//! **Example.** With `url_hosts: ["github.com", "*.example.org"]`, `https://github.com/login/device` asks; `https://github.com@evil.test/`,
//! `https://github.com.evil.test/`, `http://github.com/` and `javascript:…` are refused.

use portcullis_sdk::request_gate::Request;
use portcullis_sdk::serde_json::Map;
use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict, glob};

use super::{deny, under};
use crate::limits::Limits;

const ID: &str = "elicitation-url";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Medium, "A server wants the user to open a URL.")
}

pub(crate) fn judge(request: &Request, url: &str, limits: &Limits<'_>) -> Verdict {
    if limits.url_hosts.is_empty() {
        return deny(ID, Severity::Medium, "elicitation-url-off", "the settings name no host that a URL may lead to");
    }
    let Some(host) = host(url) else {
        return deny(ID, Severity::High, "elicitation-url-form", "the URL is not a plain https URL");
    };
    if !limits.url_hosts.iter().any(|pattern| glob::matches(&pattern.to_ascii_lowercase(), &host)) {
        let message = ["the settings do not name the host `", &host, "`"].concat();
        return deny(ID, Severity::Medium, "elicitation-url-host", &message);
    }
    let told = Map::from_iter([("timeout_ms".to_owned(), limits.form_timeout_milliseconds.into())]);
    let text = ["`", &request.server, "` wants you to open a page of `", &host, "`. Show the link?"].concat();
    Verdict::ask(vec![Question::new("elicitation-url", text, Severity::Medium, ApproverClass::Client)])
        .with_finding(Finding::new(ID, Severity::Medium, "a server wants the user to open a URL"))
        .with_extensions(&under("elicitation", told))
}

/// Returns the host of a URL whose parts every reader parts alike, in lower case.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_at_checked("https://".len())?;
    if !scheme.eq_ignore_ascii_case("https://") || !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let named =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.');
    (named && port.bytes().all(|byte| byte.is_ascii_digit())).then(|| host.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn only_a_plain_https_url_has_a_host() {
        for (url, expected) in [
            ("https://github.com/login", Some("github.com")),
            ("HTTPS://GitHub.com:443?x", Some("github.com")),
            ("https://github.com.#x", Some("github.com")),
            ("https://github.com@evil.test/", None),
            ("https://github.com\\@evil.test/", None),
            ("https:/github.com", None),
            ("http://github.com/", None),
            ("https://", None),
            ("https://[::1]/", None),
            ("https://gıthub.com/", None),
            ("https://github.com/\u{202e}x", None),
            ("https://github.com:80a/", None),
            ("javascript:alert(1)//", None),
            ("ä", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }
}

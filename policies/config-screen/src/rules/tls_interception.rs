//! `tls-interception`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};
use crate::address;

/// # What it does
/// Looks for variables that switch off the check of certificates, add an authority from a place where anybody can put one, or
/// send traffic through a proxy that is only an address.
///
/// # Why
/// Each lets somebody on the way read and change what the server sends, its credentials first.
///
/// # Example
/// ```yaml
/// command: node
/// args: [s.js]
/// env: {NODE_TLS_REJECT_UNAUTHORIZED: "0"}
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "tls-interception",
    summary: "A variable that lets somebody on the way read and change traffic.",
    severity: Severity::High,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    for variable in &context.entry.environment {
        let upper = variable.name.to_uppercase();
        let value = variable.value.trim().to_lowercase();
        let off = matches!(value.as_str(), "0" | "false" | "no" | "off");
        let on = matches!(value.as_str(), "1" | "true" | "yes" | "on");
        match upper.as_str() {
            "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" | "NPM_CONFIG_STRICT_SSL" | "GIT_SSL_VERIFY"
                if off =>
            {
                hits.ask(format!("`{}` switches off the check of certificates", variable.name), &variable.name);
            }
            "GIT_SSL_NO_VERIFY" | "GOINSECURE" if on => {
                hits.ask(format!("`{}` switches off the check of certificates", variable.name), &variable.name);
            }
            "NODE_EXTRA_CA_CERTS"
            | "SSL_CERT_FILE"
            | "SSL_CERT_DIR"
            | "REQUESTS_CA_BUNDLE"
            | "CURL_CA_BUNDLE"
            | "GIT_SSL_CAINFO" => {
                if super::loader_variable::is_foreign_place(&value) {
                    hits.ask(
                        format!("`{}` trusts an authority from a place where anybody can put one", variable.name),
                        &variable.name,
                    );
                } else {
                    hits.flag(format!("`{}` trusts another authority", variable.name), &variable.name);
                }
            }
            "HTTP_PROXY" | "HTTPS_PROXY" | "ALL_PROXY" | "NPM_CONFIG_PROXY" | "NPM_CONFIG_HTTPS_PROXY" => {
                proxy(&variable.name, &value, hits);
            }
            "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" | "OPENAI_API_BASE" => {
                hits.flag(format!("`{}` sends requests to a model elsewhere", variable.name), &variable.name);
            }
            _ => {}
        }
    }
}

fn proxy(name: &str, value: &str, hits: &mut Hits) {
    let host = address::url(value).map_or(value, |url| url.host);
    match address::host(host) {
        Some(address) if !address::is_private(address) => {
            hits.ask(format!("`{name}` sends traffic through an address that nothing names"), value);
        }
        _ if value.is_empty() || address::is_loopback(host) => {}
        _ => hits.flag(format!("`{name}` sends traffic through a proxy"), name),
    }
}

//! `metadata-endpoint`

use portcullis_sdk::Severity;
use portcullis_sdk::config_gate::Launch;

use super::{Context, Hits, RuleSpec};
use crate::address;

/// # What it does
/// Looks for the services of cloud machines that hand out credentials to whatever runs there, by every name and numeric form.
///
/// # Why
/// An entry that points there makes the gateway fetch its own machine's credentials.
///
/// # Example
/// ```yaml
/// url: http://0xA9FEA9FE/latest/meta-data/
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "metadata-endpoint",
    summary: "A service of a cloud machine that hands out credentials.",
    severity: Severity::Critical,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    if let Launch::Http(url) = &context.entry.launch
        && address::url(url).is_some_and(|parts| is_metadata(context, parts.host))
    {
        hits.deny("the endpoint hands out credentials of the machine", url);
    }
    let run = context.behaviour.scripts.iter().chain(context.behaviour.code.iter().map(|code| &code.text));
    for text in run {
        if mentions(context, text) {
            hits.deny("a command line or code reaches a service that hands out credentials of the machine", "");
        }
    }
    for (segment, lower) in context.entry.segments.iter().zip(&context.lower) {
        if mentions(context, lower) {
            hits.ask("names a service that hands out credentials of the machine", &segment.text);
        }
    }
}

fn is_metadata(context: &Context<'_>, host: &str) -> bool {
    let endpoints = &context.tables.endpoints;
    let name = host.trim_end_matches('.').to_lowercase();
    match address::host(&name) {
        Some(std::net::IpAddr::V4(address)) => endpoints.metadata_addresses.contains(&address),
        Some(std::net::IpAddr::V6(address)) => address.to_string() == "fd00:ec2::254",
        None => endpoints.metadata_hosts.contains(&name),
    }
}

/// Returns true where a text has a URL of such a service, or one of its addresses.
fn mentions(context: &Context<'_>, text: &str) -> bool {
    let is_part = |one: char| {
        one.is_ascii_alphanumeric() || matches!(one, '.' | ':' | '/' | '-' | '@' | '[' | ']' | '?' | '=' | '%')
    };
    text.split(|one: char| !is_part(one)).any(|token| {
        let start = token.find("http").and_then(|at| token.get(at..)).unwrap_or(token);
        if let Some(url) = address::url(start) {
            return is_metadata(context, url.host);
        }
        let host = token.split(['/', ':', '=']).next().unwrap_or_default();
        host.contains('.') && address::host(host).is_some() && is_metadata(context, host)
    })
}

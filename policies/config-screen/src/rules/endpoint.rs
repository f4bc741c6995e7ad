//! `endpoint`

use portcullis_sdk::Severity;
use portcullis_sdk::config_gate::Launch;

use super::{Context, Hits, RuleSpec};
use crate::address::{self, Url};

/// # What it does
/// Looks at the URL of an endpoint: a host that is made to look like another, an address in an unusual form, a connection that
/// anybody can read, a host that forwards to a machine nobody can name.
///
/// # Why
/// People read the beginning of a URL; where it leads is decided at its end.
///
/// # Example
/// ```yaml
/// url: https://mcp.notion.com.evil.example/mcp
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "endpoint",
    summary: "A URL that leads elsewhere than it seems, or that proves nothing.",
    severity: Severity::High,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    if let Launch::Http(text) = &context.entry.launch
        && let Some(url) = address::url(text)
    {
        misleading(context, &url, text, true, hits);
        open(context, &url, text, hits);
    }
    for variable in &context.entry.environment {
        let user = address::url(&variable.value).and_then(|url| url.user);
        if user.is_some_and(|user| user.contains(':') && !user.ends_with(':')) {
            hits.flag(format!("`{}` has a password in a URL", variable.name), &variable.name);
        }
    }
    let arguments =
        context.behaviour.programs.iter().filter(|program| !program.scripted).flat_map(|program| &program.arguments);
    for argument in arguments {
        if let Some(url) = address::url(argument) {
            misleading(context, &url, argument, false, hits);
        }
    }
}

fn misleading(context: &Context<'_>, url: &Url<'_>, text: &str, endpoint: bool, hits: &mut Hits) {
    let host = url.host.to_lowercase();
    if endpoint && text.trim().contains(|one: char| one == '\\' || one.is_whitespace() || one.is_control()) {
        hits.ask("the URL has characters that readers of URLs disagree on", text);
    }
    match url.user {
        Some(user) if user.contains('.') && !user.contains(':') => {
            hits.deny("the URL begins with the name of another host than it leads to", text);
        }
        Some(_) if endpoint => hits.flag("the URL has a user or password in it", url.host),
        Some(_) | None => {}
    }
    let dotted = host.split('.').count() == 4 && host.split('.').all(|part| part.len() == 1 || !part.starts_with('0'));
    if address::ipv4(&host).is_some() && !(dotted && host.chars().all(|one| one.is_ascii_digit() || one == '.')) {
        hits.ask("the host is an address in a form that hides it", text);
    }
    if !host.is_ascii() || host.split('.').any(|part| part.starts_with("xn--")) {
        hits.ask("the host has letters that can be taken for others", text);
    }
    let vendor = context.tables.endpoints.vendor_hosts.iter().find(|vendor| {
        let inner = format!("{vendor}.");
        host.starts_with(&inner) || host.contains(&format!(".{inner}"))
    });
    let alike = || context.tables.endpoints.vendor_hosts.iter().find(|vendor| looks_alike(&host, vendor));
    if let Some(vendor) = vendor.or_else(alike) {
        hits.ask(format!("the host is made to look like one of `{vendor}`"), text);
    }
}

/// Returns true where a domain differs from that of a vendor only by what people do not see: `l`, `I` and `1`, `o` and `0`,
/// `rn` and `m`, `vv` and `w`, a hyphen.
fn looks_alike(host: &str, vendor: &str) -> bool {
    let own: Vec<&str> = host.rsplit('.').take(2).collect();
    let [top, domain] = own.as_slice() else { return false };
    let Some((known, known_top)) = vendor.split_once('.') else { return false };
    let seen = |text: &str| {
        text.replace("rn", "m").replace("vv", "w").replace('-', "").replace(['i', '1', '|'], "l").replace('0', "o")
    };
    *top == known_top && *domain != known && seen(domain) == seen(known)
}

fn open(context: &Context<'_>, url: &Url<'_>, text: &str, hits: &mut Hits) {
    let host = url.host.to_lowercase();
    let within = |known: &String| host == *known || host.ends_with(&format!(".{known}"));
    if context.tables.endpoints.tunnel_hosts.iter().any(within) {
        hits.flag("the host forwards to a machine that nobody can name", text);
    }
    if host == "0.0.0.0" || host == "::" {
        hits.flag("the endpoint listens on all addresses", text);
    }
    if !url.scheme.eq_ignore_ascii_case("http") || address::is_loopback(&host) {
        return;
    }
    match address::host(&host) {
        Some(address) if address::is_private(address) => {
            hits.flag("everybody on the network can read the connection", text);
        }
        Some(_) => hits.ask("everybody on the way can read the connection, and nothing proves who answers", text),
        None => hits.flag("everybody on the way can read the connection", text),
    }
}

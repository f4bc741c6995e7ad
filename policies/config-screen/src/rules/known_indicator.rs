//! `known-indicator`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};
use crate::address;

/// # What it does
/// Looks for texts, addresses, hosts and packages of known campaigns in every field of an entry, keys included, in any letter
/// case, in every numeric form of an address, inside encodings, and in texts that are split over several arguments.
///
/// # Why
/// An indicator is a fact about one campaign: nothing honest contains it.
///
/// # Example
/// ```yaml
/// command: node
/// args: [s.js, "http://1034271497/"]   # 61.165.167.9 in another form
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "known-indicator",
    summary: "A text, address, host or package of a known campaign.",
    severity: Severity::Critical,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    let iocs = &context.tables.iocs;
    let hidden = context.behaviour.hidden.iter().map(|hidden| hidden.text.to_lowercase());
    let texts: Vec<String> = context.lower.iter().cloned().chain(hidden).collect();
    let joined = squeezed(&context.lower.concat());
    for ioc in &iocs.texts {
        if texts.iter().any(|text| text.contains(ioc.as_str())) || joined.contains(&squeezed(ioc)) {
            hits.deny(format!("has the indicator {ioc:?}"), ioc);
        }
    }
    for text in &texts {
        addresses(context, text, hits);
        hosts(context, text, hits);
    }
    for (_, package) in context.packages() {
        let name = super::package_lookalike::bare(&package);
        if iocs.packages.contains(&name) {
            hits.deny(format!("runs the package {name:?}, which was published to do harm"), &package);
        }
    }
}

/// Takes out what splits a text: quotes, escapes, spaces and joints.
fn squeezed(text: &str) -> String {
    text.chars().filter(|one| !one.is_whitespace() && !matches!(one, '\'' | '"' | '\\' | '`' | '+' | ',')).collect()
}

fn addresses(context: &Context<'_>, text: &str, hits: &mut Hits) {
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '.';
    for token in text.split(|one: char| !is_part(one)).filter(|token| token.len() >= 7) {
        let bare = token.trim_matches('.');
        let version = bare.strip_prefix('v').unwrap_or(bare);
        let Some(address) = address::ipv4(version) else {
            partial(context, token, hits);
            continue;
        };
        let Some((_, range)) = context.tables.iocs.addresses.iter().find(|(range, _)| range.contains(address)) else {
            continue;
        };
        let before = text.find(token).and_then(|at| text.get(..at)).unwrap_or_default();
        let is_version = version != bare
            || before.ends_with("==")
            || ["version=", "version:", "version ", "release="].iter().any(|word| before.ends_with(word))
            || before.ends_with('@') && !context.packages().is_empty() && !before.contains("://");
        // A version can have four parts as an address has.
        if is_version {
            hits.flag(format!("has a version that reads as an address of {range}"), token);
        } else {
            hits.deny(format!("has the address {address}, of {range}"), token);
        }
    }
}

/// The beginning of a listed network, as where its last part is put in by a variable.
fn partial(context: &Context<'_>, token: &str, hits: &mut Hits) {
    let Some(beginning) = token.strip_suffix('.').filter(|beginning| beginning.matches('.').count() == 2) else {
        return;
    };
    let whole = address::ipv4(&format!("{beginning}.1"));
    let range =
        whole.and_then(|address| context.tables.iocs.addresses.iter().find(|(range, _)| range.contains(address)));
    if let Some((_, range)) = range {
        hits.ask(format!("has the beginning of an address of {range}"), token);
    }
}

fn hosts(context: &Context<'_>, text: &str, hits: &mut Hits) {
    for host in &context.tables.iocs.hosts {
        if crate::words::find_word(text, host, &['-']).is_some() {
            hits.deny(format!("has the host {host:?}"), host);
        }
    }
}

//! What a stdio server may reach besides its streams.

use std::path::PathBuf;

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, boolish, not_a_choice, wrong_type};
use crate::sink::Mistake;
use crate::surroundings::Surroundings;
use crate::tree::{Kind, Node};
use crate::{Network, Sandbox};

/// So many ports are given at most: more is `all`, and each is a rule in the kernel.
const MOST_PORTS: usize = 64;
/// So many paths are given at most: each is opened and a rule in the kernel whenever the server starts.
const MOST_PATHS: usize = 256;

/// Reads `sandbox`. A mistake in it is an error, so that no server runs with less around it than was meant.
pub(crate) fn sandbox(fields: &mut Fields<'_, '_>, surroundings: &Surroundings, is_http: bool) -> Option<Sandbox> {
    let node = fields.raw("sandbox")?;
    if is_http {
        let mistake =
            Mistake::warning(DiagnosticKind::Conflict, "this has no effect on a server that is reached by URL")
                .hint("only what the gateway starts itself can be confined");
        fields.report("sandbox", node.place, mistake);
        return None;
    }
    match (boolish(node), &node.kind) {
        (Some(false), _) => return None,
        // An empty block means its defaults, and those are the narrowest.
        (Some(true), _) | (None, Kind::Null) => return Some(Sandbox::default()),
        (None, Kind::Map(_)) => {}
        (None, Kind::Text { .. } | Kind::Plain(..) | Kind::List(_)) => {
            let mistake = wrong_type("a map, true or false", node);
            fields.report("sandbox", node.place, mistake);
            return None;
        }
    }
    let mut inner = Fields::new(node, fields.path.key("sandbox"), fields.sink);
    let sandbox = Sandbox {
        network: network(&mut inner),
        read: paths(&mut inner, "read", surroundings),
        write: paths(&mut inner, "write", surroundings),
        local_sockets: inner.boolish("local_sockets").unwrap_or_default(),
        strict: inner.boolish("strict").unwrap_or(true),
    };
    // A misspelled key would be a wall that is not there.
    let unknown: Vec<_> = inner.rest().map(|member| (member.key.clone(), member.place)).collect();
    for (key, place) in unknown {
        let mistake = Mistake::error(DiagnosticKind::UnknownKey, "this key of a sandbox is not known")
            .hint("a sandbox has `network`, `read`, `write`, `local_sockets`, `strict`");
        inner.report(&key, place, mistake);
    }
    Some(sandbox)
}

fn network(fields: &mut Fields<'_, '_>) -> Network {
    let Some(node) = fields.get("network") else {
        return Network::None;
    };
    let Kind::List(items) = &node.kind else {
        return match node.scalar_text().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
            Some("none") => Network::None,
            Some("all") => Network::All,
            Some(_) | None => {
                let mistake =
                    not_a_choice(node, ["none", "all"].into_iter()).hint("or a list of ports: `network: [443]`");
                fields.report("network", node.place, mistake);
                Network::None
            }
        };
    };
    let path = fields.path.key("network");
    let mut ports = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match port(item) {
            Some(port) => ports.push(port),
            None => fields.sink.push(&path.index(index), item.place, not_a_port(item)),
        }
    }
    if ports.len() > MOST_PORTS {
        let message = format!("{} ports are given, and {MOST_PORTS} are the most", ports.len());
        fields.report("network", node.place, Mistake::error(DiagnosticKind::TooLarge, message));
    }
    if ports.is_empty() { Network::None } else { Network::Ports(ports) }
}

fn port(node: &Node) -> Option<u16> {
    node.scalar_text()?.trim().parse().ok().filter(|port| *port > 0)
}

/// The kernel tells connections apart by port alone. A list of hosts that is not kept would be worse than none.
fn not_a_port(node: &Node) -> Mistake {
    let is_host =
        node.scalar_text().is_some_and(|text| text.contains(|one: char| one.is_ascii_alphabetic() || one == '.'));
    if is_host {
        let message = "hosts are not offered here: the kernel can keep a server to ports, not to hosts";
        Mistake::error(DiagnosticKind::NotSupported, message).hint("write the ports, as in `network: [443]`, or `none`")
    } else {
        wrong_type("a port from 1 to 65535", node)
    }
}

fn paths(fields: &mut Fields<'_, '_>, key: &'static str, surroundings: &Surroundings) -> Vec<PathBuf> {
    let written = fields.texts(key).unwrap_or_default();
    let place = fields.place_of(key);
    if written.len() > MOST_PATHS {
        let message = format!("{} paths are given, and {MOST_PATHS} are the most", written.len());
        fields.report(key, place, Mistake::error(DiagnosticKind::TooLarge, message));
    }
    let paths: Vec<PathBuf> = written.iter().map(|path| PathBuf::from(surroundings.expand(path))).collect();
    if let Some(relative) = paths.iter().find(|path| !path.is_absolute()) {
        let message = format!("`{}` does not begin at the root or with `~`", relative.display());
        let mistake = Mistake::error(DiagnosticKind::BadValue, message)
            .hint("the gateway may be started from any folder; write `${workspaceFolder}` for the one of this start");
        fields.report(key, place, mistake);
    }
    paths
}

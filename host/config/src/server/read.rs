//! From a map of the config to a server.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{Origin, ServerEntry, ServerName, Trust};

use super::{Server, chat, launch, oauth, requests, sandbox, security, tools};
use crate::diagnostic::DiagnosticKind;
use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::surroundings::Surroundings;
use crate::tree::{Member, Place};
use crate::{Protocol, ServerOptions};

/// Shortest time between signs of life: a shorter one would be load without use.
const SHORTEST_KEEPALIVE: Duration = Duration::from_secs(5);

/// Reads a server. Nothing where it can't be run; the sink says why.
pub(crate) fn server(
    member: &Member,
    path: &KeyPath,
    origin: Origin,
    surroundings: &Surroundings,
    sink: &mut Sink,
) -> Option<Server> {
    let name = name(member, path, sink)?;
    let node = &member.value;
    if node.members().is_none() {
        let mistake = Mistake::error(
            DiagnosticKind::WrongType,
            format!("expected a map with `command` or `url`, found {}", node.shown()),
        );
        sink.push(path, node.place, mistake);
        return None;
    }
    let mut fields = Fields::new(node, path.clone(), sink);
    let chat = chat::server(&mut fields);
    let launch = match &chat {
        Some(endpoint) => {
            launch::instead_of(&mut fields, "chat");
            Some(chat::launch(endpoint))
        }
        // What is wrong with the endpoint is told already.
        None if node
            .members()
            .is_some_and(|members| members.iter().any(|member| member.key == "chat" && !member.value.is_null())) =>
        {
            launch::instead_of(&mut fields, "chat");
            None
        }
        None => launch::launch(&mut fields, surroundings),
    };
    let options = options(&mut fields, surroundings, launch.as_ref().is_some_and(launch::is_http));
    let options = ServerOptions { chat, ..options };
    foreign_keys(&mut fields);
    fields.finish();
    let document = node.to_value();
    let entry = ServerEntry { name, launch: launch?, origin, document };
    Some(Server { entry: Arc::new(entry), options })
}

fn name(member: &Member, path: &KeyPath, sink: &mut Sink) -> Option<ServerName> {
    match ServerName::parse(&member.key) {
        Ok(name) => Some(name),
        Err(error) => {
            sink.push(path, member.place, Mistake::error(DiagnosticKind::BadValue, format!("the server name {error}")));
            None
        }
    }
}

fn options(fields: &mut Fields<'_, '_>, surroundings: &Surroundings, is_http: bool) -> ServerOptions {
    let defaults = ServerOptions::default();
    let (idle_timeout, max_lifetime) = lifecycle(fields, is_http);
    let (sampling, sampling_provider) = requests::sampling(fields);
    ServerOptions {
        enabled: enabled(fields),
        timeout: fields.seconds("timeout").unwrap_or(defaults.timeout),
        connect_timeout: fields.seconds("connect_timeout").unwrap_or(defaults.connect_timeout),
        keepalive_interval: keepalive(fields).unwrap_or(defaults.keepalive_interval),
        idle_timeout,
        max_lifetime,
        supports_parallel_tool_calls: fields.boolish("supports_parallel_tool_calls"),
        lazy: fields.boolish("lazy").unwrap_or_default(),
        trust: trust(fields),
        protocol: protocol(fields),
        filter: tools::filter(fields),
        tls: security::verification(fields, surroundings),
        client_identity: security::client_identity(fields, surroundings),
        authentication: oauth::authentication(fields, is_http),
        sandbox: sandbox::sandbox(fields, surroundings, is_http),
        chat: None,
        sampling_provider,
        sampling,
        elicitation: requests::elicitation(fields),
    }
}

/// Reads `enabled`, and the `disabled` of some clients.
fn enabled(fields: &mut Fields<'_, '_>) -> bool {
    let enabled = fields.boolish("enabled");
    let disabled = fields.boolish("disabled");
    enabled.unwrap_or(true) && !disabled.unwrap_or_default()
}

fn keepalive(fields: &mut Fields<'_, '_>) -> Option<Duration> {
    let interval = fields.seconds("keepalive_interval")?;
    if interval < SHORTEST_KEEPALIVE {
        let place = fields.place_of("keepalive_interval");
        let message = format!("{} seconds is the shortest interval and is used", SHORTEST_KEEPALIVE.as_secs());
        fields.report("keepalive_interval", place, Mistake::warning(DiagnosticKind::BadValue, message));
    }
    Some(interval.max(SHORTEST_KEEPALIVE))
}

/// Reads the two ends of a stdio server's life, which may stand under `lifecycle`.
fn lifecycle(fields: &mut Fields<'_, '_>, is_http: bool) -> (Option<Duration>, Option<Duration>) {
    let mut idle = fields.seconds_or_off("idle_timeout_seconds").flatten();
    let mut lifetime = fields.seconds_or_off("max_lifetime_seconds").flatten();
    if let Some(node) = fields.get("lifecycle") {
        let mut inner = Fields::new(node, fields.path.key("lifecycle"), fields.sink);
        idle = idle.or(inner.seconds_or_off("idle_timeout_seconds").flatten());
        lifetime = lifetime.or(inner.seconds_or_off("max_lifetime_seconds").flatten());
        inner.finish();
    }
    if is_http && (idle.is_some() || lifetime.is_some()) {
        let key = if idle.is_some() { "idle_timeout_seconds" } else { "max_lifetime_seconds" };
        let place = fields.key_place(key);
        fields.report(key, place, Mistake::warning(DiagnosticKind::Conflict, "this has no effect on an HTTP server"));
        return (None, None);
    }
    (idle, lifetime)
}

/// Reads `trust`. A word that is not known means the lower tier: a misspelling must not raise it.
fn trust(fields: &mut Fields<'_, '_>) -> Option<Trust> {
    let node = fields.get("trust")?;
    match node.scalar_text().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Some("full") => Some(Trust::Full),
        Some("untrusted") => Some(Trust::Untrusted),
        Some(_) | None => {
            let message = format!("expected `full` or `untrusted`, found {}; `untrusted` is used", node.shown());
            fields.report("trust", node.place, Mistake::warning(DiagnosticKind::BadValue, message));
            Some(Trust::Untrusted)
        }
    }
}

fn protocol(fields: &mut Fields<'_, '_>) -> Protocol {
    let choices = [
        ("auto", Protocol::Auto),
        ("stateless", Protocol::Stateless),
        ("modern", Protocol::Stateless),
        ("2026-07-28", Protocol::Stateless),
        ("legacy", Protocol::Legacy),
        ("handshake", Protocol::Legacy),
    ];
    fields.choice("protocol", &choices).unwrap_or_default()
}

/// Keys of other programs: those that describe are let be, those that would change what runs are pointed out.
fn foreign_keys(fields: &mut Fields<'_, '_>) {
    for key in ["name", "description", "icon", "icons", "scope", "skip_preflight", "gallery", "version", "metadata"] {
        let _: Option<_> = fields.raw(key);
    }
    for key in ["autoApprove", "alwaysAllow", "auto_approve"] {
        if fields.raw(key).is_some_and(|node| !node.is_null()) {
            let place = fields.key_place(key);
            let message = "a server entry can't approve its own calls: this has no effect";
            let mistake = Mistake::warning(DiagnosticKind::NotSupported, message)
                .hint("policies and approvals decide; see `policies` and `approvals`");
            fields.report(key, place, mistake);
        }
    }
    for (key, hint) in [
        ("envFile", "write the variables under `env`, as `NAME: ${NAME}`"),
        ("identity_header", "write the header under `headers`"),
    ] {
        if fields.raw(key).is_some_and(|node| !node.is_null()) {
            let place: Place = fields.key_place(key);
            let mistake = Mistake::warning(DiagnosticKind::NotSupported, "this key is not supported and has no effect");
            fields.report(key, place, mistake.hint(hint));
        }
    }
    // What it asks for is always so: redirects to another origin are not followed at all.
    if fields.boolish("strict_redirect_headers") == Some(false) {
        let place = fields.key_place("strict_redirect_headers");
        let message = "redirects to another origin are not followed, with or without headers";
        let mistake =
            Mistake::warning(DiagnosticKind::NotSupported, message).hint("write the URL that the server redirects to");
        fields.report("strict_redirect_headers", place, mistake);
    }
}

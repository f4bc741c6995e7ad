//! Endpoints that answer chat completions in the shape of the API of `OpenAI`.

use portcullis_model::{Launch, Secret};
use url::Host;

use crate::ChatEndpoint;
use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, wrong_type};
use crate::sink::Mistake;
use crate::tree::{Kind, Node};

/// Reads `chat`, which makes an endpoint a server of the gateway's own. Nothing where it cannot be used.
pub(crate) fn server(fields: &mut Fields<'_, '_>) -> Option<ChatEndpoint> {
    let node = fields.get("chat")?;
    endpoint(node, "chat", fields)
}

/// Reads `provider` of `sampling`.
pub(crate) fn provider(sampling: &mut Fields<'_, '_>) -> Option<ChatEndpoint> {
    let node = sampling.get("provider")?;
    endpoint(node, "provider", sampling)
}

/// Returns an endpoint as policies judge it: a URL with the header that holds the key.
pub(crate) fn launch(endpoint: &ChatEndpoint) -> Launch {
    Launch::Http { url: endpoint.url.clone(), headers: endpoint.headers(), legacy_sse: false }
}

fn endpoint(node: &Node, key: &'static str, fields: &mut Fields<'_, '_>) -> Option<ChatEndpoint> {
    if node.members().is_none() {
        fields.report(key, node.place, wrong_type("a map with `url` and `model`", node));
        return None;
    }
    let mut inner = Fields::new(node, fields.path.key(key), fields.sink);
    let url = url(&mut inner);
    let model = inner.text("model").map(|model| model.trim().to_owned()).filter(|model| !model.is_empty());
    let api_key = api_key(&mut inner);
    let timeout = inner.seconds("timeout");
    let max_tokens = inner.count("max_tokens", 1);
    let session_header = session_header(&mut inner);
    if model.is_none() {
        let place = inner.place;
        let mistake = Mistake::error(DiagnosticKind::MissingKey, "`model` is not set")
            .hint("write the name under which the endpoint knows the model");
        inner.report("model", place, mistake);
    }
    inner.finish();
    Some(ChatEndpoint { url: url?, model: model?, api_key: api_key.ok()?, timeout, max_tokens, session_header })
}

fn url(fields: &mut Fields<'_, '_>) -> Option<String> {
    let Some(node) = fields.get("url") else {
        let place = fields.place;
        let mistake = Mistake::error(DiagnosticKind::MissingKey, "`url` is not set")
            .hint("write something like `https://api.example.com/v1`");
        fields.report("url", place, mistake);
        return None;
    };
    let problem = match &node.kind {
        Kind::Text { text, .. } => match url::Url::parse(text.trim()) {
            Ok(url) if is_safe(&url) => return Some(text.trim().to_owned()),
            Ok(url) if url.scheme() == "http" => {
                "the key and all that is said would go there in clear: http is for this machine alone".to_owned()
            }
            Ok(_) => "this is no URL of an endpoint: https, a host, and neither user, query nor fragment".to_owned(),
            Err(error) => format!("this is no URL: {error}"),
        },
        Kind::Plain(..) | Kind::Null | Kind::List(_) | Kind::Map(_) => "expected a URL".to_owned(),
    };
    let mistake =
        Mistake::error(DiagnosticKind::BadValue, problem).hint("write something like `https://api.example.com/v1`");
    fields.report("url", node.place, mistake);
    None
}

/// Returns true for a URL that a key may be sent to: encrypted, or of this machine.
fn is_safe(url: &url::Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_encrypted = url.scheme() == "https" && url.host_str().is_some_and(|host| !host.is_empty());
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    is_plain && (is_encrypted || (url.scheme() == "http" && is_loopback))
}

/// Reads the key. An error where it cannot be sent as a header: then nothing is sent at all.
fn api_key(fields: &mut Fields<'_, '_>) -> Result<Option<Secret>, ()> {
    let Some(node) = fields.get("api_key") else {
        return Ok(None);
    };
    let key = node
        .scalar_text()
        .map(str::trim)
        .filter(|key| !key.is_empty() && key.chars().all(|one| one.is_ascii_graphic()));
    if let Some(key) = key {
        return Ok(Some(Secret::new(key)));
    }
    // Nothing of the value: a key with a line break in it is still one.
    let mistake = Mistake::error(DiagnosticKind::BadValue, "a key is a text without spaces and control characters")
        .hint("write `api_key: ${NAME}` and set that variable");
    fields.report("api_key", node.place, mistake);
    Err(())
}

/// Reads the name of a header.
fn session_header(fields: &mut Fields<'_, '_>) -> Option<String> {
    let name = fields.text("session_header")?;
    let reserved = ["authorization", "content-type", "content-length", "host", "accept", "cookie"];
    let is_name = !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
    if is_name && !reserved.contains(&name.to_ascii_lowercase().as_str()) {
        return Some(name);
    }
    let place = fields.place_of("session_header");
    let message = "this can't be the header that names a conversation";
    fields.report("session_header", place, Mistake::error(DiagnosticKind::BadValue, message));
    None
}

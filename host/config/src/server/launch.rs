//! How a server is reached.

mod arguments;

use portcullis_model::{Launch, Secret};

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, not_a_choice, wrong_type};
use crate::sink::Mistake;
use crate::surroundings::Surroundings;
use crate::tree::{Kind, Node};

/// Returns true for an endpoint.
pub(crate) fn is_http(launch: &Launch) -> bool {
    matches!(launch, Launch::Http { .. })
}

/// Reads how a server is reached. A URL wins over a command.
pub(crate) fn launch(fields: &mut Fields<'_, '_>, surroundings: &Surroundings) -> Option<Launch> {
    let url_key = ["url", "serverUrl", "httpUrl"].into_iter().filter(|key| fields.get(key).is_some()).last();
    let command = fields.get("command");
    let transport = transport(fields);
    match (url_key, command) {
        (Some(key), command) => {
            if command.is_some() {
                let message = "both a URL and a command are set: the URL is used";
                let place = fields.key_place("command");
                fields.report("command", place, Mistake::warning(DiagnosticKind::Conflict, message));
            }
            http(fields, key, transport)
        }
        (None, Some(_)) => stdio(fields, surroundings),
        (None, None) => {
            let mistake = Mistake::error(DiagnosticKind::MissingKey, "neither `command` nor `url` is set")
                .hint("set `command` for a program, or `url` for an endpoint");
            fields.sink.push(&fields.path, fields.place, mistake);
            stdio_keys(fields);
            http_keys(fields);
            None
        }
    }
}

/// Names the keys of programs and URLs where another key says how the server is reached; one that is set has no effect.
pub(crate) fn instead_of(fields: &mut Fields<'_, '_>, winner: &str) {
    for key in ["url", "serverUrl", "httpUrl", "command", "args", "env", "cwd", "headers", "transport", "type"] {
        if fields.raw(key).is_some_and(|node| !node.is_null()) {
            let place = fields.key_place(key);
            let message = format!("`{winner}` is set, and with it this has no effect");
            fields.report(key, place, Mistake::warning(DiagnosticKind::Conflict, message));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    StreamableHttp,
    LegacySse,
}

/// Reads `transport`, or `type` as desktop clients call it.
fn transport(fields: &mut Fields<'_, '_>) -> Option<Transport> {
    const CHOICES: [(&str, Transport); 7] = [
        ("stdio", Transport::Stdio),
        ("http", Transport::StreamableHttp),
        ("streamable-http", Transport::StreamableHttp),
        ("streamable_http", Transport::StreamableHttp),
        ("streamablehttp", Transport::StreamableHttp),
        ("sse", Transport::LegacySse),
        ("local", Transport::Stdio),
    ];
    let written = fields.choice("transport", &CHOICES);
    let alias = fields.get("type");
    let alias = alias.and_then(|node| {
        let word = node.scalar_text()?.trim().to_ascii_lowercase();
        let found = CHOICES.iter().find(|(name, _)| *name == word).map(|(_, transport)| *transport);
        if found.is_none() {
            fields.report("type", node.place, not_a_choice(node, CHOICES.iter().map(|(name, _)| *name)));
        }
        found
    });
    written.or(alias)
}

fn stdio(fields: &mut Fields<'_, '_>, surroundings: &Surroundings) -> Option<Launch> {
    http_keys(fields);
    let command = command(fields, surroundings);
    let arguments = fields.get("args").map(|node| arguments::read(node, &fields.path.key("args"), fields.sink));
    let environment = pairs(fields, "env", &VARIABLE);
    let working_directory = fields.text("cwd").map(|cwd| surroundings.expand(&cwd)).filter(|cwd| !cwd.is_empty());
    Some(Launch::Stdio { command: command?, arguments: arguments.unwrap_or_default(), working_directory, environment })
}

fn command(fields: &mut Fields<'_, '_>, surroundings: &Surroundings) -> Option<String> {
    let node = fields.get("command")?;
    let (Kind::Text { text, .. } | Kind::Plain(_, text)) = &node.kind else {
        let mistake = wrong_type("a program", node).hint("put the program into `command` and the rest into `args`");
        fields.report("command", node.place, mistake);
        return None;
    };
    let command = surroundings.expand(text);
    if command.is_empty() || command.contains('\0') {
        fields.report(
            "command",
            node.place,
            Mistake::error(DiagnosticKind::BadValue, "`command` is empty or has a NUL"),
        );
        return None;
    }
    Some(command)
}

/// Names the keys of a stdio server, so that they are not called unknown.
fn stdio_keys(fields: &mut Fields<'_, '_>) {
    for key in ["args", "env", "cwd"] {
        let _: Option<&Node> = fields.raw(key);
    }
}

fn http_keys(fields: &mut Fields<'_, '_>) {
    let _: Option<&Node> = fields.raw("headers");
}

fn http(fields: &mut Fields<'_, '_>, key: &'static str, transport: Option<Transport>) -> Option<Launch> {
    stdio_keys(fields);
    let headers = pairs(fields, "headers", &HEADER);
    if transport == Some(Transport::Stdio) {
        let place = fields.place_of("transport");
        let mistake = Mistake::error(DiagnosticKind::Conflict, "a server with a URL can't be reached over stdio")
            .hint("write `http` or `sse`, or set `command` instead of `url`");
        fields.report("transport", place, mistake);
        return None;
    }
    let url = url(fields, key)?;
    Some(Launch::Http { url, headers, legacy_sse: transport == Some(Transport::LegacySse) })
}

fn url(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let node = fields.get(key)?;
    let Kind::Text { text, .. } = &node.kind else {
        fields.report(key, node.place, wrong_type("a URL", node));
        return None;
    };
    let text = text.trim();
    let problem = match url::Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Some("only http and https URLs can be reached".to_owned())
        }
        Ok(url) if url.host_str().is_none_or(str::is_empty) => Some("the URL has no host".to_owned()),
        Ok(_) => None,
        Err(error) => Some(format!("this is no URL: {error}")),
    };
    match problem {
        None => Some(text.to_owned()),
        Some(problem) => {
            let hint = "write something like `https://example.com/mcp`";
            fields.report(key, node.place, Mistake::error(DiagnosticKind::BadValue, problem).hint(hint));
            None
        }
    }
}

/// What the names and values of a map of texts may be.
struct PairRules {
    what: &'static str,
    name: fn(&str) -> bool,
    value: fn(&str) -> bool,
    list_hint: &'static str,
}

const VARIABLE: PairRules = PairRules {
    what: "variable",
    name: |name| !name.is_empty() && !name.contains(['=', '\0']),
    value: |value| !value.contains('\0'),
    list_hint: "write `NAME: value` lines instead of a list of `NAME=value`",
};

/// A header name is a token, and a value has no control characters but the tab (RFC 9110 §5.5, §5.6.2).
const HEADER: PairRules = PairRules {
    what: "header",
    name: |name| {
        let special = "!#$%&'*+-.^_`|~";
        !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || special.contains(one))
    },
    value: |value| value.chars().all(|one| one == '\t' || !one.is_control()),
    list_hint: "write `Name: value` lines instead of a list",
};

fn pairs(fields: &mut Fields<'_, '_>, key: &'static str, rules: &PairRules) -> Vec<(String, Secret)> {
    let Some(node) = fields.get(key) else {
        return Vec::new();
    };
    let Some(members) = node.members() else {
        fields.report(key, node.place, wrong_type("a map of names and texts", node).hint(rules.list_hint));
        return Vec::new();
    };
    let path = fields.path.key(key);
    let mut pairs = Vec::with_capacity(members.len());
    for member in members {
        let mistake = match member.value.scalar_text() {
            _ if !(rules.name)(&member.key) => {
                Some(Mistake::error(DiagnosticKind::BadValue, format!("this can't be the name of a {}", rules.what)))
            }
            Some(text) if (rules.value)(text) => {
                pairs.push((member.key.clone(), Secret::new(text)));
                None
            }
            Some(_) => Some(Mistake::error(DiagnosticKind::BadValue, "the value has control characters")),
            None if member.value.is_null() => Some(
                Mistake::error(DiagnosticKind::WrongType, format!("the {} has no value", rules.what))
                    .hint("write \"\" for an empty text"),
            ),
            None => Some(wrong_type("a text", &member.value)),
        };
        if let Some(mistake) = mistake {
            fields.sink.push(&path.key(&member.key), member.value.place, mistake);
        }
    }
    pairs
}

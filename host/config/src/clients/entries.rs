//! Server entries of clients, as ours.

mod translate;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use super::Client;

/// A server entry of a client's config.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundEntry {
    /// The name that the client knows the server by.
    pub name: String,
    /// Where in the file it stands, besides the usual section: the project that it is for.
    pub scope: Option<String>,
    /// The entry as the client has it.
    pub original: Value,
    /// The entry as ours, or why there is none.
    pub entry: Result<Value, Foreign>,
    /// What of it was left out or changed its form, and what it means.
    pub notes: Vec<String>,
}

/// Why an entry of a client has no entry of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Foreign {
    /// It is no map.
    #[error("the entry is no map")]
    NoMap,
    /// It is a part of the client, not an MCP server.
    #[error("`{0}` is a part of the client and no MCP server")]
    Part(String),
    /// It says neither what to start nor what to reach.
    #[error("the entry has neither a command nor a URL")]
    Nothing,
}

/// Returns every server entry of a config of a client, in file order.
pub(super) fn all(client: Client, config: &Value) -> Vec<FoundEntry> {
    let mut found = section(client, config.get(client.servers_key()), None);
    match client {
        // Servers of one project stand with it.
        Client::ClaudeCode => {
            for (folder, project) in members(config.get("projects")) {
                found.extend(section(client, project.get("mcpServers"), Some(folder)));
            }
        }
        // In the settings of the editor instead of a file of their own.
        Client::VsCode => {
            let nested = config.get("mcp").and_then(|mcp| mcp.get("servers"));
            found.extend(section(client, nested, Some("mcp")));
            found.extend(section(client, config.get("mcpServers"), Some("mcpServers")));
        }
        Client::Hermes => found.extend(section(client, config.get("mcpServers"), Some("mcpServers"))),
        Client::ClaudeDesktop | Client::Cursor | Client::Windsurf | Client::Codex | Client::Gemini | Client::Goose => {}
    }
    found
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Object::iter)
}

fn section(client: Client, servers: Option<&Value>, scope: Option<&str>) -> Vec<FoundEntry> {
    let found = members(servers).map(|(name, original)| {
        let mut notes = Vec::new();
        let entry = translate::translate(client, name, original, &mut notes);
        FoundEntry { name: name.to_owned(), scope: scope.map(str::to_owned), original: original.clone(), entry, notes }
    });
    found.collect()
}

/// Returns the entry by which a client starts a program with arguments as its server.
pub(super) fn entry(client: Client, program: &str, arguments: &[String]) -> Value {
    let arguments: Value = arguments.iter().map(|one| Value::from(one.as_str())).collect::<Vec<_>>().into();
    match client {
        Client::VsCode => object! { "type" => "stdio", "command" => program, "args" => arguments },
        Client::Goose => object! {
            "name" => "portcullis", "type" => "stdio", "enabled" => true, "cmd" => program, "args" => arguments,
            "timeout" => 300_u64,
        },
        Client::ClaudeDesktop
        | Client::ClaudeCode
        | Client::Cursor
        | Client::Windsurf
        | Client::Codex
        | Client::Gemini
        | Client::Hermes => object! { "command" => program, "args" => arguments },
    }
    .into()
}

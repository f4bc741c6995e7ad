//! Tools of the gateway that reach a server's resources and prompts, for clients that know tools only.

use portcullis_config::Naming;
use portcullis_model::json::{Object, Value};
use portcullis_model::{ServerName, object};

use crate::Advertised;

/// What a utility tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Utility {
    /// Lists the resources of a server.
    ListResources,
    /// Reads a resource of a server.
    ReadResource,
    /// Lists the prompts of a server.
    ListPrompts,
    /// Gets a prompt of a server.
    GetPrompt,
}

impl Utility {
    /// All utility tools, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::ListResources, Self::ReadResource, Self::ListPrompts, Self::GetPrompt];

    /// Returns the name before it is published.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
        }
    }

    fn is_advertised(self, advertised: Advertised) -> bool {
        match self {
            Self::ListResources | Self::ReadResource => advertised.resources,
            Self::ListPrompts | Self::GetPrompt => advertised.prompts,
        }
    }

    /// Returns what the tool does, for the model. The server's name is the operator's word for it, not the server's.
    fn description(self, server: &ServerName) -> String {
        match self {
            Self::ListResources => {
                format!("List the resources of the MCP server {server:?}.", server = server.as_str())
            }
            Self::ReadResource => {
                format!("Read a resource of the MCP server {server:?} by its URI.", server = server.as_str())
            }
            Self::ListPrompts => format!("List the prompts of the MCP server {server:?}.", server = server.as_str()),
            Self::GetPrompt => {
                format!("Get a prompt of the MCP server {server:?} by its name.", server = server.as_str())
            }
        }
    }

    fn schema(self) -> Object {
        let text = |description: &str| object! { "type" => "string", "description" => description };
        match self {
            Self::ListResources | Self::ListPrompts => object! { "type" => "object", "properties" => Object::new() },
            Self::ReadResource => object! {
                "type" => "object",
                "properties" => object! { "uri" => text("URI of the resource, as listed") },
                "required" => vec![Value::from("uri")],
            },
            Self::GetPrompt => object! {
                "type" => "object",
                "properties" => object! {
                    "name" => text("Name of the prompt, as listed"),
                    "arguments" => object! {
                        "type" => "object",
                        "description" => "Arguments of the prompt",
                        "additionalProperties" => object! { "type" => "string" },
                    },
                },
                "required" => vec![Value::from("name")],
            },
        }
    }
}

/// A tool of the gateway that reaches a server's resources or prompts.
#[derive(Clone, Debug, PartialEq)]
pub struct UtilityTool {
    /// The published name.
    pub exposed: String,
    /// The server.
    pub server: ServerName,
    /// What it does.
    pub utility: Utility,
}

impl UtilityTool {
    /// Returns the definition for the client.
    pub fn document(&self) -> Value {
        object! {
            "name" => self.exposed.as_str(),
            "description" => self.utility.description(&self.server),
            "inputSchema" => self.utility.schema(),
            "annotations" => object! { "readOnlyHint" => true },
        }
        .into()
    }
}

/// Returns the utility tools that a server's capabilities and the config allow. Where names are kept as they are there are
/// none: the client then sees the server as it is.
pub(crate) fn allowed(naming: &Naming, advertised: Advertised) -> impl Iterator<Item = Utility> {
    let offered = *naming != Naming::Plain;
    Utility::ALL.into_iter().filter(move |utility| offered && utility.is_advertised(advertised))
}

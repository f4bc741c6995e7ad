//! The configs of clients: where each keeps its own, and how its server entries read as ours.
//!
//! Files of clients are read as they are written, JSON with comments included, and changed at one place with everything
//! else left as it is. Sources of the places and keys: each client's public documentation, as of the autumn of 2026.

mod entries;
mod format;
mod places;

use portcullis_model::json::Value;

pub use entries::{Foreign, FoundEntry};
pub use format::{ClientText, ClientTextError};
pub use places::{Place, Places, System};

/// A client whose config can be read and pointed at the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// goose.
    Goose,
    /// Hermes Agent.
    Hermes,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// JSON, comments and trailing commas allowed.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Codex,
        Self::Gemini,
        Self::Goose,
        Self::Hermes,
    ];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
            Self::Hermes => "hermes",
        }
    }

    /// Returns the client of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == text)
    }

    /// Returns the format of its config.
    pub fn format(self) -> FileFormat {
        match self {
            Self::Codex => FileFormat::Toml,
            Self::Goose | Self::Hermes => FileFormat::Yaml,
            Self::ClaudeDesktop | Self::ClaudeCode | Self::Cursor | Self::VsCode | Self::Windsurf | Self::Gemini => {
                FileFormat::Json
            }
        }
    }

    /// Returns the key that its servers stand under.
    pub fn servers_key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::Codex | Self::Hermes => "mcp_servers",
            Self::Goose => "extensions",
            Self::ClaudeDesktop | Self::ClaudeCode | Self::Cursor | Self::Windsurf | Self::Gemini => "mcpServers",
        }
    }

    /// Returns the client that a file is probably of, by its name and folder, where none is named.
    pub fn of_file(path: &std::path::Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let folder = path.parent().and_then(std::path::Path::file_name);
        let folder = folder.map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
        match (folder.as_str(), name.as_str()) {
            (_, "claude_desktop_config.json") => Self::ClaudeDesktop,
            (".vscode" | "user", "mcp.json") => Self::VsCode,
            (".cursor", "mcp.json") => Self::Cursor,
            (_, "mcp_config.json") => Self::Windsurf,
            (".gemini", "settings.json") => Self::Gemini,
            ("goose" | "config", "config.yaml") => Self::Goose,
            (_, _) => match extension.as_str() {
                "toml" => Self::Codex,
                "yaml" | "yml" => Self::Hermes,
                _ => Self::ClaudeCode,
            },
        }
    }

    /// Returns the entry by which the client starts a program with arguments as its server.
    pub fn entry(self, program: &str, arguments: &[String]) -> Value {
        entries::entry(self, program, arguments)
    }

    /// Returns every server entry of a config of the client, in file order.
    pub fn entries(self, config: &Value) -> Vec<FoundEntry> {
        entries::all(self, config)
    }
}

#[cfg(test)]
mod tests;

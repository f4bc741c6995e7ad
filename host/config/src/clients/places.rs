//! Where clients keep their configs.

use std::path::{Path, PathBuf};

use super::Client;

/// An operating system, as far as places differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Linux and other systems with the folders of the XDG specification.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// Returns the one that this program runs on.
    pub fn current() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// What places depend on.
#[derive(Clone, Debug)]
pub struct Places {
    system: System,
    home: PathBuf,
    project: PathBuf,
    variable: fn(&str) -> Option<PathBuf>,
}

/// A place where a client looks for its config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The client.
    pub client: Client,
    /// The file.
    pub path: PathBuf,
    /// True for the file of a project, which others may have written.
    pub of_project: bool,
}

impl Places {
    /// The places of a user with that home, in a project. Variables that move configs (`XDG_CONFIG_HOME`, `APPDATA`,
    /// `CODEX_HOME`, `HERMES_HOME`) are answered by a function.
    pub fn new(
        system: System,
        home: impl Into<PathBuf>,
        project: impl Into<PathBuf>,
        variable: fn(&str) -> Option<PathBuf>,
    ) -> Self {
        Self { system, home: home.into(), project: project.into(), variable }
    }

    /// Returns every place of a client, the user's own first.
    pub fn of(&self, client: Client) -> Vec<Place> {
        let own = |path: PathBuf| Place { client, path, of_project: false };
        let project = |path: &str| Place { client, path: self.project.join(path), of_project: true };
        match client {
            Client::ClaudeDesktop => vec![own(self.application("Claude").join("claude_desktop_config.json"))],
            Client::ClaudeCode => vec![own(self.home.join(".claude.json")), project(".mcp.json")],
            Client::Cursor => vec![own(self.home.join(".cursor/mcp.json")), project(".cursor/mcp.json")],
            Client::VsCode => vec![own(self.application("Code").join("User/mcp.json")), project(".vscode/mcp.json")],
            Client::Windsurf => vec![own(self.home.join(".codeium/windsurf/mcp_config.json"))],
            Client::Codex => vec![own(self.moved("CODEX_HOME", ".codex").join("config.toml"))],
            Client::Gemini => vec![own(self.home.join(".gemini/settings.json")), project(".gemini/settings.json")],
            Client::Goose => vec![own(self.goose())],
            Client::Hermes => vec![own(self.moved("HERMES_HOME", ".hermes").join("config.yaml"))],
        }
    }

    /// Returns every place of every client.
    pub fn all(&self) -> Vec<Place> {
        Client::ALL.into_iter().flat_map(|client| self.of(client)).collect()
    }

    /// Returns the place of a file that was named.
    pub fn named(path: &Path, client: Option<Client>) -> Place {
        let client = client.unwrap_or_else(|| Client::of_file(path));
        Place { client, path: path.to_owned(), of_project: false }
    }

    /// Returns the folder in which applications keep what they are set to.
    fn application(&self, name: &str) -> PathBuf {
        match self.system {
            System::Linux => self.xdg_config().join(name),
            System::MacOs => self.home.join("Library/Application Support").join(name),
            System::Windows => self.app_data().join(name),
        }
    }

    fn xdg_config(&self) -> PathBuf {
        (self.variable)("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    fn app_data(&self) -> PathBuf {
        (self.variable)("APPDATA").unwrap_or_else(|| self.home.join("AppData/Roaming"))
    }

    fn goose(&self) -> PathBuf {
        match self.system {
            System::Linux => self.xdg_config().join("goose/config.yaml"),
            System::MacOs => self.home.join(".config/goose/config.yaml"),
            System::Windows => self.app_data().join("Block/goose/config/config.yaml"),
        }
    }

    fn moved(&self, variable: &str, usual: &str) -> PathBuf {
        (self.variable)(variable).unwrap_or_else(|| self.home.join(usual))
    }
}

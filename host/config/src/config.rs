//! The config as a whole.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_model::json::Value;
use portcullis_model::{Launch, Origin, ServerEntry, ServerName, object};

use crate::diagnostic::{DiagnosticKind, Level};
use crate::fields::{Fields, boolish, nearest};
use crate::interpolation::Interpolation;
use crate::key_path::KeyPath;
use crate::sections::{approvals, control, journal, naming, policies, results, serve, status};
use crate::server::read;
use crate::sink::{Mistake, Sink};
use crate::tree::{self, Kind, Member, Node, Place};
use crate::{
    Approvals, ControlSection, Diagnostic, JournalSection, Naming, PoliciesSection, Results, ServeSection, Server,
    ServerOptions, StatusTool, Surroundings,
};

/// Most servers of one config. Each is a process or a connection.
const MOST_SERVERS: usize = 1_000;

/// A config, with what was wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The servers that can be run, in file order; those with `enabled: false` included.
    pub servers: Vec<Server>,
    /// Names of the servers that an error keeps from running, in file order.
    pub left_out: Vec<String>,
    /// Which policies judge.
    pub policies: PoliciesSection,
    /// Under which names items are published.
    pub naming: Naming,
    /// Who is asked.
    pub approvals: Approvals,
    /// What an operator's assistant may do.
    pub control: ControlSection,
    /// What is recorded.
    pub journal: JournalSection,
    /// How large results may be.
    pub results: Results,
    /// When the agent can ask what became of servers.
    pub status: StatusTool,
    /// Where clients are served over HTTP.
    pub serve: ServeSection,
    /// What was wrong, in file order.
    pub diagnostics: Vec<Diagnostic>,
    /// The file, where it was read from one.
    pub source: Option<Source>,
}

/// The file that a config was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path, as it was named.
    pub path: PathBuf,
    /// Whose config it is.
    pub origin: Origin,
}

/// Why a config file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the config {path}")]
pub struct ReadError {
    /// The file.
    pub path: String,
    /// What the system said.
    #[source]
    source: std::io::Error,
}

impl Config {
    /// Reads a config file. A file that is no UTF-8 is a diagnostic, not an error.
    ///
    /// # Errors
    /// The file can't be opened or read.
    pub fn read(path: &Path, origin: Origin, surroundings: &Surroundings) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => {
                let config = match String::from_utf8(bytes) {
                    Ok(text) => Self::parse(&text, &name, origin, surroundings),
                    Err(_) => Self::unreadable(&name, "the file is not UTF-8"),
                };
                let source = Source { path: path.to_owned(), origin };
                Ok(Self { source: Some(source), ..config })
            }
            Err(source) => Err(ReadError { path: name, source }),
        }
    }

    /// Reads a config from a text. `file` is the name that diagnostics show.
    pub fn parse(text: &str, file: &str, origin: Origin, surroundings: &Surroundings) -> Self {
        let mut sink = Sink::new(file);
        let tree = tree::parse(text);
        for problem in tree.problems {
            sink.enter(server_of(&problem.keys));
            sink.push(&problem.path, problem.place, problem.mistake);
        }
        sink.enter(None);
        let mut config = Self::default();
        if let Some(mut root) = tree.root {
            let mut reader =
                Reader { origin, surroundings, interpolation: Interpolation::new(surroundings), sink: &mut sink };
            reader.root(&mut root, &mut config);
        }
        config.diagnostics = sink.finish();
        config
    }

    /// Returns the config for wrapping one command: its own names are kept, everything else is default.
    ///
    /// The server is named after the program, or after the package where a well-known runner starts one.
    pub fn for_wrap(command: &str, arguments: &[String]) -> Self {
        let document = object! {
            "command" => command,
            "args" => arguments.iter().map(|argument| Value::from(argument.as_str())).collect::<Vec<_>>(),
        };
        let Some(name) = wrapped_name(command, arguments) else {
            return Self::unreadable("command line", "the command is empty");
        };
        let launch = Launch::Stdio {
            command: command.to_owned(),
            arguments: arguments.to_vec(),
            working_directory: None,
            environment: Vec::new(),
        };
        let entry = ServerEntry { name, launch, origin: Origin::CommandLine, document: document.into() };
        let server = Server { entry: Arc::new(entry), options: ServerOptions::default() };
        Self { servers: vec![server], naming: Naming::Plain, ..Self::default() }
    }

    /// Returns the server of that name.
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name().as_str() == name)
    }

    /// Returns true where any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.level == Level::Error)
    }

    fn unreadable(file: &str, message: &str) -> Self {
        let mut sink = Sink::new(file);
        sink.push(&KeyPath::default(), Place::default(), Mistake::error(DiagnosticKind::Syntax, message));
        Self { diagnostics: sink.finish(), ..Self::default() }
    }
}

/// Keys that servers stand under: ours, that of desktop clients, that of one editor.
pub(crate) const SERVER_KEYS: [&str; 3] = ["mcp_servers", "mcpServers", "servers"];

/// Returns the server that a path leads into.
fn server_of(keys: &[String]) -> Option<&str> {
    match keys {
        [section, server, ..] if SERVER_KEYS.contains(&section.as_str()) => Some(server),
        _ => None,
    }
}

fn wrapped_name(command: &str, arguments: &[String]) -> Option<ServerName> {
    let base = |text: &str| text.trim().rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let program = base(command);
    let runner = matches!(program.trim_end_matches(".cmd"), "npx" | "uvx" | "pnpx" | "bunx" | "pipx");
    let package = arguments.iter().find(|argument| !argument.starts_with('-') && *argument != "run").filter(|_| runner);
    let text = package.map_or(program, |package| base(package));
    let text: String = text.chars().filter(|one| !one.is_control()).take(64).collect();
    ServerName::parse(&text).ok()
}

/// Returns true where a server is switched off: what it lacks is then no error, for that is often why it is off.
fn is_disabled(node: &Node) -> bool {
    let switch = |key: &str| {
        let members = node.members().unwrap_or_default();
        members.iter().find(|member| member.key == key).and_then(|member| boolish(&member.value))
    };
    switch("enabled") == Some(false) || switch("disabled") == Some(true)
}

struct Reader<'a> {
    origin: Origin,
    surroundings: &'a Surroundings,
    interpolation: Interpolation<'a>,
    sink: &'a mut Sink,
}

impl Reader<'_> {
    fn root(&mut self, root: &mut Node, config: &mut Config) {
        let place = root.place;
        let Kind::Map(members) = &mut root.kind else {
            if !matches!(root.kind, Kind::Null) {
                let message = format!("expected a map with `mcp_servers`, found {}", root.shown());
                let mistake = Mistake::error(DiagnosticKind::WrongType, message);
                self.sink.push(&KeyPath::default(), place, mistake);
            }
            return;
        };
        for member in members {
            let path = KeyPath::default().key(&member.key);
            if SERVER_KEYS.contains(&member.key.as_str()) {
                self.servers(member, &path, config);
                continue;
            }
            match member.key.as_str() {
                "policies" | "naming" | "approvals" | "control" | "journal" | "status" | "results" | "serve" => {
                    self.interpolation.apply(&mut member.value, &path, self.sink);
                    self.section(member, &path, config);
                }
                _ => self.unknown(member, &path),
            }
        }
    }

    fn section(&mut self, member: &Member, path: &KeyPath, config: &mut Config) {
        let node = &member.value;
        match member.key.as_str() {
            "policies" => config.policies = policies::read(node, path, self.surroundings, self.sink),
            "naming" => config.naming = naming::read(node, path, self.sink),
            "status" => config.status = status::read(node, path, self.sink),
            "results" => config.results = results::read(node, path, self.sink),
            "serve" => config.serve = serve::read(node, path, self.surroundings, self.sink),
            "control" => config.control = control::read(node, path, self.sink),
            "approvals" => config.approvals = approvals::read(node, path, self.sink),
            _ => config.journal = journal::read(node, path, self.surroundings, self.sink),
        }
    }

    /// Warns of a key at the top. Configs of client applications are full of keys that are none of our business.
    fn unknown(&mut self, member: &Member, path: &KeyPath) {
        if self.origin != Origin::ConfigFile {
            return;
        }
        let known =
            ["mcp_servers", "policies", "naming", "approvals", "control", "journal", "status", "results", "serve"];
        let near = nearest(&member.key, known.into_iter());
        let mistake = Mistake::warning(DiagnosticKind::UnknownKey, "this key is not known and has no effect")
            .maybe_hint(near.map(|near| format!("did you mean `{near}`?")));
        self.sink.push(path, member.place, mistake);
    }

    fn servers(&mut self, section: &mut Member, path: &KeyPath, config: &mut Config) {
        if section.key != "mcp_servers" && self.origin == Origin::ConfigFile {
            let message = format!("`{}` is read as `mcp_servers`", section.key);
            self.sink.push(path, section.place, Mistake::note(DiagnosticKind::Alias, message));
        }
        // An empty map keeps what it is: a config without servers.
        let fields = Fields::new(&section.value, path.clone(), self.sink);
        let count = fields.rest().count();
        if count > MOST_SERVERS {
            let message = format!("{count} servers are set, {MOST_SERVERS} are read");
            let mistake = Mistake::error(DiagnosticKind::TooLarge, message);
            fields.sink.push(&fields.path, section.place, mistake);
        }
        let Kind::Map(members) = &mut section.value.kind else {
            return;
        };
        let mut names: HashSet<String> = config
            .servers
            .iter()
            .map(|server| server.name().as_str().to_owned())
            .chain(config.left_out.clone())
            .collect();
        for member in members.iter_mut().take(MOST_SERVERS) {
            self.sink.enter(Some(&member.key));
            self.sink.soften(is_disabled(&member.value));
            let path = path.key(&member.key);
            if !names.insert(member.key.clone()) {
                let mistake = Mistake::error(DiagnosticKind::DuplicateKey, "a server of this name is set above");
                self.sink.push(&path, member.place, mistake);
            }
            self.server(member, &path, config);
        }
        self.sink.soften(false);
        self.sink.enter(None);
    }

    fn server(&mut self, member: &mut Member, path: &KeyPath, config: &mut Config) {
        self.interpolation.apply(&mut member.value, path, self.sink);
        let server = read::server(member, path, self.origin, self.surroundings, self.sink);
        match server {
            Some(server) if !self.sink.is_broken(&member.key) => config.servers.push(server),
            Some(_) | None => {
                config.servers.retain(|server| server.name().as_str() != member.key);
                config.left_out.push(member.key.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;

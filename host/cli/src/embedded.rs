//! The gateway inside an agent: its tools as values, without a process or a connection between.

mod client;
mod outcome;

use std::path::{Path, PathBuf};

use portcullis_config::Config;
use portcullis_mcp::Schemas;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::Home;
use tokio::sync::watch;

use crate::failure::OrExit as _;
use crate::gateway::StartOptions;
use crate::settings::{origin, surroundings};
use crate::{Composition, Exit, Failure};

use client::Client;
pub use outcome::Outcome;

/// How an embedded gateway is started.
///
/// ```
/// # let home = std::path::Path::new("/home/me/.portcullis");
/// let options = portcullis::EmbeddedOptions::new(home).named("my-agent", "1.0");
/// assert!(options.config.ends_with("config.yaml"));
/// ```
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The folder of config, policies, cache and journal. It is created where it is missing.
    pub home: PathBuf,
    /// The config file.
    pub config: PathBuf,
    /// The name and version that policies, the journal and servers know the agent by.
    pub client: (String, String),
    /// The form in which schemas of arguments are listed. That of model providers where nothing else is said.
    pub schemas: Schemas,
    /// The program that supervises stdio servers, called with `supervise` and what follows. Where nothing is said it is the
    /// agent's own, whose `main` then has to hand its arguments to [`crate::main`] if the first of them is `supervise`.
    pub supervisor: Option<PathBuf>,
}

impl EmbeddedOptions {
    /// The options for a home folder with a `config.yaml`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let client = (env!("CARGO_PKG_NAME").to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Self { config: home.join("config.yaml"), home, client, schemas: Schemas::Provider, supervisor: None }
    }

    /// Says what agent it is.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.client = (name.into(), version.into());
        self
    }

    /// Names the program that supervises stdio servers, such as an installed `portcullis`.
    #[must_use]
    pub fn supervised_by(mut self, program: impl Into<PathBuf>) -> Self {
        self.supervisor = Some(program.into());
        self
    }
}

/// A tool as an agent hands it to its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The published name, which [`Embedded::call`] takes.
    pub name: String,
    /// What the server says that it does; empty where it says nothing.
    pub description: String,
    /// The JSON Schema of its arguments, in the form that the options ask for.
    pub schema: Value,
    /// All that was listed of it.
    pub document: Value,
}

/// A gateway inside an agent, and the agent's session with it.
///
/// All gates are between: what the agent sees of servers passed them, and its calls do. It shows no forms, so that what a
/// policy asks goes to an operator (`portcullis approvals`), and a refusal comes back as an error that says so.
#[derive(Debug)]
pub struct Embedded {
    composition: Composition,
    client: Client,
}

impl Embedded {
    /// Starts a gateway from a config and introduces the agent to it. Returns before the servers are started: the first
    /// list waits a while for them, and [`Embedded::changes`] tells of those that come later.
    ///
    /// Call it inside a tokio runtime of the multi-threaded kind.
    ///
    /// # Errors
    /// The home folder, the config or the engine of policies cannot be used. One server's mistake is none: it is left out,
    /// as [`Composition::gateway`]'s status shows.
    pub async fn start(options: EmbeddedOptions) -> Result<Self, Failure> {
        let home = Home::open(&options.home).or_exit(Exit::State, "opening the home folder")?;
        let config = Config::read(&options.config, origin(&options.config), &surroundings(home.path())?)
            .or_exit(Exit::Config, "reading the config")?;
        let mut composition = Composition::start_with(&home, &config, start_options(options.supervisor.as_deref()))?;
        composition.watch_config(&home, &config);
        composition.hear_operators(&home, &config)?;
        composition.note_front("an agent that embeds it");
        Self::introduce(composition, options.schemas, options.client).await
    }

    /// Introduces an agent to a gateway, by its name and version.
    pub(crate) async fn introduce(
        composition: Composition,
        schemas: Schemas,
        (name, version): (String, String),
    ) -> Result<Self, Failure> {
        let client = Client::connect(composition.gateway().clone(), schemas);
        let introduction = object! {
            "protocolVersion" => "2025-11-25",
            "capabilities" => Object::new(),
            "clientInfo" => object! { "name" => name, "version" => version },
        };
        let greeted = client.request("initialize", introduction.into()).await;
        greeted.or_exit(Exit::Gateway, "introducing the agent to its gateway")?;
        client.tell("notifications/initialized");
        Ok(Self { composition, client })
    }

    /// Lists what is published now.
    ///
    /// # Errors
    /// The gateway has ended.
    pub async fn tools(&self) -> Result<Vec<Tool>, Failure> {
        let listed = self.client.request("tools/list", Object::new().into()).await;
        let listed = listed.or_exit(Exit::Gateway, "listing the tools")?;
        let tools = listed.get("tools").and_then(Value::as_array).unwrap_or_default();
        let text = |tool: &Value, key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let tool = |tool: &Value| Tool {
            name: text(tool, "name"),
            description: text(tool, "description"),
            schema: tool.get("inputSchema").cloned().unwrap_or(Value::Null),
            document: tool.clone(),
        };
        Ok(tools.iter().map(tool).collect())
    }

    /// Calls a tool. Whatever goes wrong is an outcome that the model can read: the tool's own error, a refusal of a policy,
    /// an unknown name, a server that does not answer.
    ///
    /// Dropping the future cancels the call.
    pub async fn call(&self, tool: &str, arguments: Object) -> Outcome {
        let params = object! { "name" => tool, "arguments" => arguments };
        match self.client.request("tools/call", params.into()).await {
            Ok(result) => Outcome::of_result(result),
            Err(error) => Outcome::of_error(&error.to_string()),
        }
    }

    /// Counts how often what is published changed: worth listing again.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.client.changes()
    }

    /// Returns the gateway with all that belongs to it, to be asked for its state.
    pub fn composition(&self) -> &Composition {
        &self.composition
    }

    /// Ends the session and all servers.
    pub async fn shut_down(self) {
        self.client.close().await;
        self.composition.shut_down().await;
    }
}

fn start_options(supervisor: Option<&Path>) -> StartOptions {
    StartOptions { supervisor: supervisor.map(Path::to_owned), ..StartOptions::default() }
}

//! `portcullis control`: an MCP server over standard streams by which an operator's assistant watches the gateways of a
//! home, and answers what clients may answer.
//!
//! Sessions, passages and events come from the journal, so they can be read while no gateway runs; questions and answers
//! go to the gateways that run, over the socket that `portcullis approvals` uses. Each tool has a switch in the config, and
//! those that write are off. An answer counts as one of a client, and the gateway refuses it where it comes from whom it
//! serves: nobody lets a call of their own pass.

mod answers;
mod channels;
mod events;
mod messages;
mod reading;
mod sessions;
mod tools;
mod wire;

use std::sync::Arc;

use portcullis_config::ControlSection;
use portcullis_model::json::{Object, Value};
use portcullis_store::{Home, PayloadKey, SqliteStore};

use crate::arguments::ConfigFile;
use crate::failure::OrExit as _;
use crate::gateway::{Clients, open_store, runtime_for};
use crate::settings::Settings;
use crate::{Exit, Failure};

use reading::{Arguments, Problem};

/// What all calls share.
pub(crate) struct Control {
    home: Home,
    store: Arc<SqliteStore>,
    /// Opens what policies were told, where that was kept.
    key: PayloadKey,
    section: ControlSection,
    /// The name by which the assistant's client introduced itself.
    client: std::sync::OnceLock<String>,
}

/// Serves until the client closes its end.
pub(crate) fn run(settings: &Settings, config: &ConfigFile) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let (_, config) = settings.read_config(config)?;
    let store = open_store(&home, &config.journal)?;
    let key = PayloadKey::of(&home).or_exit(Exit::State, "reading the key of payloads")?;
    let control = Control { home, store, key, section: config.control, client: std::sync::OnceLock::new() };
    let runtime = runtime_for(Clients::One)?;
    runtime.block_on(wire::serve(Arc::new(control)));
    runtime.shutdown_background();
    Ok(Exit::Success)
}

impl Control {
    /// Does what a tool does. A tool that is switched off is not there.
    async fn call(self: Arc<Self>, tool: &str, arguments: &Object) -> Result<Value, Problem> {
        if !self.section.offers(tool) {
            return Err(Problem::new(format!("there is no tool `{tool}`, or it is switched off")));
        }
        let arguments = Arguments::new(arguments, tools::names_of(tool))?;
        match tool {
            "approvals_open" => answers::open(&self).await,
            "approval_respond" => answers::respond(&self, &arguments).await,
            "message_send" => channels::send(&self, &arguments).await,
            "channels_list" => Ok(channels::list(&self)),
            "events_wait" => events::wait(&self, &arguments).await,
            "sessions_list" => sessions::list(&self, &arguments).await,
            "session_get" => sessions::get(&self, &arguments).await,
            "events_poll" => reading::off_thread(&self, &arguments, events::poll).await,
            "messages_read" => reading::off_thread(&self, &arguments, messages::read).await,
            "attachments_fetch" => reading::off_thread(&self, &arguments, messages::attachments).await,
            _ => Err(Problem::new(format!("there is no tool `{tool}`"))),
        }
    }
}

//! `portcullis call`: one call of one tool, through every gate, without an agent.

mod answering;
mod arguments;

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use portcullis_config::{Config, ServerOptions};
use portcullis_mcp::Schemas;
use portcullis_mcp::status::{Phase, ServerStatus};
use portcullis_model::json::Value;
use portcullis_model::{GateName, object};
use portcullis_store::{Home, JournalEntry, JournalReader as _, Query, SqliteStore};

use crate::arguments::Call;
use crate::commands::list;
use crate::failure::{OrExit as _, one_line};
use crate::gateway::{Composition, runtime};
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Embedded, Exit, Failure, Outcome, Tool, passages};

/// Besides the server's own limit, so long its start takes at most: policies may have to be compiled.
const GRACE: Duration = Duration::from_mins(2);

/// Calls a tool.
pub(crate) fn run(settings: &Settings, call: &Call) -> Result<Exit, Failure> {
    let (_, mut config) = settings.read_config(&call.config)?;
    let names: Vec<String> = config.servers.iter().map(|server| server.name().to_string()).collect();
    config.servers.retain(|server| server.name().as_str() == call.server);
    let Some(server) = config.servers.first_mut() else {
        return Err(list::unknown(&call.server, &names, &config));
    };
    if !server.options.enabled {
        let message = format!("`{}` is switched off", one_line(&call.server));
        return Err(Failure::new(Exit::Usage, message).hint(format!("`portcullis enable {}`", one_line(&call.server))));
    }
    server.options = ServerOptions { lazy: false, ..server.options.clone() };
    let home = settings.open_home()?;
    let runtime = runtime()?;
    let called = runtime.block_on(called(&home, &config, call));
    runtime.shutdown_background();
    let called = called?;
    report::print(&called, call.format)?;
    Ok(called.exit())
}

/// What came of the call.
struct Called {
    server: String,
    tool: String,
    outcome: Outcome,
    /// True where the server did not answer.
    unanswered: bool,
    passages: Vec<JournalEntry>,
}

async fn called(home: &Home, config: &Config, call: &Call) -> Result<Called, Failure> {
    report::progress("starting the server", call.format);
    let mut composition = Composition::start(home, config, Vec::new())?;
    composition.hear_operators(home, config)?;
    composition.note_front("`portcullis call`");
    let answering = answering::start(home, &config.approvals, composition.gates())?;
    let store = std::sync::Arc::clone(composition.store());
    let last = newest(&store)?;
    let client = ("portcullis call".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let agent = Embedded::introduce(composition, Schemas::Listed, client).await?;
    let outcome = call_tool(&agent, config, call).await;
    let unanswered = status(&agent).is_some_and(|status| status.usage.unanswered > 0);
    agent.shut_down().await;
    drop(answering);
    let (tool, outcome) = outcome?;
    let query = Query { after: Some(last), server: Some(call.server.clone()), limit: Query::MOST, ..Query::default() };
    let mut passages = store.latest(&query).or_exit(Exit::State, "reading the journal")?;
    passages.reverse();
    let of_calls = [GateName::Call, GateName::Result, GateName::Request].map(GateName::as_str);
    passages.retain(|entry| of_calls.contains(&entry.gate.as_str()));
    Ok(Called { server: call.server.clone(), tool, outcome, unanswered, passages })
}

fn newest(store: &SqliteStore) -> Result<i64, Failure> {
    let newest = store.latest(&Query { limit: 1, ..Query::default() }).or_exit(Exit::State, "reading the journal")?;
    Ok(newest.first().map_or(0, |entry| entry.id))
}

fn status(agent: &Embedded) -> Option<ServerStatus> {
    agent.composition().gateway().status().servers.into_iter().next()
}

/// Waits for the server, finds the tool and calls it. Returns its published name with what came of it.
async fn call_tool(agent: &Embedded, config: &Config, call: &Call) -> Result<(String, Outcome), Failure> {
    let patience = config.servers.first().map(|server| server.options.connect_timeout).unwrap_or_default() + GRACE;
    let gateway = agent.composition().gateway();
    let settled = async {
        agent.composition().ready().await;
        gateway.settled().await;
    };
    let _late = tokio::time::timeout(patience, settled).await;
    let status = status(agent);
    let Some(status) = status.filter(|status| status.phase.is_up()) else {
        return Err(not_up(call, self::status(agent).as_ref()));
    };
    let catalogue = gateway.catalogue();
    let of_name =
        |published: &&portcullis_registry::Published| published.name() == call.tool || published.exposed() == call.tool;
    let Some(exposed) = catalogue.tools().iter().find(of_name).map(|published| published.exposed().to_owned()) else {
        let names: Vec<String> = catalogue.tools().iter().map(|tool| tool.name().to_owned()).collect();
        return Err(no_tool(call, &status, &names));
    };
    let tools = agent.tools().await?;
    let schema = tools.iter().find(|tool: &&Tool| tool.name == exposed).map_or(Value::Null, |tool| tool.schema.clone());
    let arguments = arguments::read(call, &schema)?;
    let outcome = agent.call(&exposed, arguments).await;
    Ok((exposed, outcome))
}

fn not_up(call: &Call, status: Option<&ServerStatus>) -> Failure {
    let is_denied = status.is_some_and(|status| status.phase == Phase::Denied);
    let reason = status.and_then(|status| status.reason.clone()).unwrap_or_else(|| "it did not get ready".to_owned());
    let exit = if is_denied { Exit::Refused } else { Exit::Unreachable };
    let name = one_line(&call.server);
    Failure::new(exit, format!("`{name}` does not run: {}", one_line(&reason)))
        .hint(format!("`portcullis test {name}` shows what each gate said"))
}

fn no_tool(call: &Call, status: &ServerStatus, names: &[String]) -> Failure {
    let (server, tool) = (one_line(&call.server), one_line(&call.tool));
    if let Some(withheld) = status.withheld.iter().find(|item| item.name == call.tool) {
        let message = format!("the tool `{tool}` of `{server}` is withheld ({}): {}", withheld.code, withheld.detail);
        return Failure::new(Exit::Refused, message)
            .hint("`portcullis approvals list` shows whether a question about it is open");
    }
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    Failure::new(Exit::Usage, format!("`{server}` publishes no tool `{tool}`"))
        .hint(format!("tools: {}", names.join(", ")))
}

impl Called {
    fn is_refused(&self) -> bool {
        self.outcome.is_error && self.passages.iter().any(|entry| entry.outcome().0 == "refused")
    }

    fn exit(&self) -> Exit {
        match (self.outcome.is_error, self.is_refused(), self.unanswered) {
            (false, ..) => Exit::Success,
            (true, true, _) => Exit::Refused,
            (true, false, true) => Exit::Unreachable,
            (true, false, false) => Exit::ToolError,
        }
    }
}

impl Report for Called {
    fn to_value(&self) -> Value {
        object! {
            "server" => self.server.as_str(),
            "tool" => self.tool.as_str(),
            "outcome" => self.exit().as_str(),
            "text" => self.outcome.text.as_str(),
            "result" => self.outcome.result.clone().unwrap_or(Value::Null),
            "gates" => self.passages.iter().map(passages::to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        // A terminal would act on what the server chose to write; a file takes it as it is.
        if !io::stdout().is_terminal() {
            return writeln!(out, "{}", self.outcome.text);
        }
        self.outcome.text.lines().try_for_each(|line| writeln!(out, "{}", one_line(line)))
    }
}

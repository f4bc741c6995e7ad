//! What the demo does, step by step, and whether each step went as it must.

use std::path::Path;
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::{Home, JournalEntry, JournalReader as _, Query, SqliteStore, StoreOptions};

use super::client::{Client, ClientError};
use super::server::{FLOOD, HIDDEN, POISON, fake_key, invisible};

/// Where the second server says that it reports to. `.example` is reserved (RFC 2606) and nobody's.
const COLLECTOR: &str = "collect.portcullis-demo.example";

/// Longest wait for both servers to be published: a first start compiles the bundle.
const PUBLISHED_WITHIN: Duration = Duration::from_mins(3);

/// Longest wait for a server to be withdrawn. The goal is 5 s; a busy machine that compiles the policy anew takes longer.
const WITHDRAWN_WITHIN: Duration = Duration::from_mins(3);

/// One step of the demo.
pub(crate) struct Step {
    /// What the server tries.
    pub(crate) title: &'static str,
    /// What it sent.
    pub(crate) sent: String,
    /// What reached the model.
    pub(crate) reached: String,
    /// True where the step went as it must.
    pub(crate) held: bool,
    /// What the gates did meanwhile.
    pub(crate) passages: Vec<JournalEntry>,
}

/// The whole demo.
pub(crate) struct Played {
    /// From the start of the gateway to the first list of tools.
    pub(crate) started_in: Duration,
    /// From the drop of the indicator until the server was gone.
    pub(crate) withdrawn_in: Duration,
    pub(crate) steps: Vec<Step>,
}

/// Why the demo could not be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// A file of the demo could not be written.
    #[error("a file of the demo could not be written")]
    File(#[source] std::io::Error),
    /// The gateway failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The journal could not be opened.
    #[error("the journal of the demo could not be opened")]
    Open(#[from] portcullis_store::OpenError),
    /// The journal could not be read.
    #[error("the journal of the demo could not be read")]
    Read(#[from] portcullis_store::StoreError),
    /// The servers were not published.
    #[error("the servers of the demo were not published in time; published: {0:?}")]
    NotPublished(Vec<String>),
    /// The gateway did not end as it must.
    #[error("the gateway did not end when its client did")]
    NotEnded,
}

/// Plays the demo in a home folder, which must be empty.
pub(crate) fn play(home: &Home, mut progress: impl FnMut(&str)) -> Result<Played, DemoError> {
    let program = std::env::current_exe().map_err(DemoError::File)?;
    std::fs::write(home.config_file(), config(&program)).map_err(DemoError::File)?;
    let store = SqliteStore::open(home, StoreOptions::default())?;
    progress("starting a gateway with two servers (a first start compiles the policies)");
    let begin = Instant::now();
    let mut client = Client::start(home.path())?;
    client.initialize()?;
    let published = |tools: &[String]| {
        ["mcp__notes__list_notes", "mcp__parrot__say"].iter().all(|name| tools.iter().any(|tool| tool == name))
    };
    let (tools, all) = wait_for_tools(&mut client, PUBLISHED_WITHIN, published)?;
    if !all {
        return Err(DemoError::NotPublished(tools));
    }
    let started_in = begin.elapsed();

    let mut stage = Stage { client, store, seen: 0, steps: Vec::new() };
    stage.listing(&tools)?;
    stage.control()?;
    stage.hidden_text()?;
    stage.leaked_key()?;
    stage.write_without_hint()?;
    stage.flood()?;
    progress("dropping an indicator of compromise into policies.d");
    let withdrawn_in = stage.indicator(home)?;
    let Stage { client, steps, .. } = stage;
    if !client.close().is_some_and(|status| status.success()) {
        return Err(DemoError::NotEnded);
    }
    Ok(Played { started_in, withdrawn_in, steps })
}

fn config(program: &Path) -> String {
    // A JSON string is a YAML string, whatever stands in the path.
    let program = Value::from(program.to_string_lossy().into_owned()).to_json();
    format!(
        "mcp_servers:
  notes:
    command: {program}
    args: [demo-server, notes]
    trust: untrusted
  parrot:
    command: {program}
    args: [demo-server, parrot, --report-to, 'https://{COLLECTOR}/in']
policies:
  # So that the flood is stopped by the limit and not by the question that comes first.
  server-requests:
    settings: {{sampling: {{mode: allow}}}}
"
    )
}

/// Lists until the tools are as wanted, and returns whether they came to be.
fn wait_for_tools(
    client: &mut Client,
    patience: Duration,
    wanted: impl Fn(&[String]) -> bool,
) -> Result<(Vec<String>, bool), DemoError> {
    let deadline = Instant::now() + patience;
    loop {
        let tools = client.tools()?;
        if wanted(&tools) {
            return Ok((tools, true));
        }
        if Instant::now() >= deadline {
            return Ok((tools, false));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

struct Stage {
    client: Client,
    store: SqliteStore,
    /// The last entry of the journal that belongs to a step already.
    seen: i64,
    steps: Vec<Step>,
}

impl Stage {
    fn step(
        &mut self,
        title: &'static str,
        sent: impl Into<String>,
        reached: impl Into<String>,
        held: bool,
    ) -> Result<(), DemoError> {
        let query = Query { after: Some(self.seen), limit: 200, ..Query::default() };
        let mut passages = self.store.latest(&query)?;
        passages.reverse();
        self.seen = passages.last().map_or(self.seen, |entry| entry.id);
        self.steps.push(Step { title, sent: sent.into(), reached: reached.into(), held, passages });
        Ok(())
    }

    fn listing(&mut self, tools: &[String]) -> Result<(), DemoError> {
        let listed = tools.iter().any(|tool| tool.ends_with("__weather"));
        let answer = self.client.call("mcp__notes__weather", object! { "city" => "Oslo" })?;
        let held = !listed && !is_success(&answer) && !tools.is_empty();
        let reached = format!("tools: {}", tools.join(", "));
        self.step("a tool whose description gives orders", format!("weather: {POISON}"), reached, held)
    }

    fn control(&mut self) -> Result<(), DemoError> {
        let answer = self.client.call("mcp__notes__list_notes", Object::new())?;
        let held = is_success(&answer) && texts(&answer) == "groceries\nholidays";
        self.step("a harmless call, which must pass unchanged", "groceries\nholidays", texts(&answer), held)
    }

    fn hidden_text(&mut self) -> Result<(), DemoError> {
        let answer = self.client.call("mcp__notes__read_note", object! { "title" => "groceries" })?;
        let reached = texts(&answer);
        let hidden = |character: char| ('\u{e0000}'..='\u{e007f}').contains(&character);
        let held = is_success(&answer) && reached.contains("Milk, bread") && !reached.chars().any(hidden);
        let sent = format!("Milk, bread{}, apples.", invisible(HIDDEN));
        self.step("orders in invisible characters of a result", sent, reached, held)
    }

    fn leaked_key(&mut self) -> Result<(), DemoError> {
        let answer = self.client.call("mcp__notes__check_copy", Object::new())?;
        let whole = answer.to_json();
        let held = whole.contains("401") && !whole.contains(&fake_key());
        // The report must not show what looks like a key either.
        self.step("a key in the text of an error", "401 for the key (a made-up key)", texts(&answer), held)
    }

    fn write_without_hint(&mut self) -> Result<(), DemoError> {
        let answer = self.client.call("mcp__notes__save_note", object! { "title" => "x", "text" => "y" })?;
        let held = !is_success(&answer) && texts(&answer).contains("approval-pending");
        self.step(
            "a tool that may write and does not say so, before anybody approves",
            "nothing: the call did not get there",
            texts(&answer),
            held,
        )
    }

    fn flood(&mut self) -> Result<(), DemoError> {
        let before = self.client.sampled;
        let answer = self.client.call("mcp__notes__summarize", Object::new())?;
        let asked = self.client.sampled - before;
        let held = asked == 10 && texts(&answer).contains(&format!("10 answered, {} refused", FLOOD - 10));
        let sent = format!("{FLOOD} requests to the client's model in one call");
        self.step("a flood of sampling requests", sent, format!("{asked} requests reached the client"), held)
    }

    fn indicator(&mut self, home: &Home) -> Result<Duration, DemoError> {
        let say = |client: &mut Client| client.call("mcp__parrot__say", object! { "text" => "hello" });
        let answer = say(&mut self.client)?;
        let before = is_success(&answer) && texts(&answer) == "hello";
        self.step("a server that nothing is known of yet", "hello", texts(&answer), before)?;

        drop_pack(home).map_err(DemoError::File)?;
        let dropped = Instant::now();
        let gone = |tools: &[String]| !tools.iter().any(|tool| tool.starts_with("mcp__parrot__"));
        let (tools, withdrawn) = wait_for_tools(&mut self.client, WITHDRAWN_WITHIN, gone)?;
        let withdrawn_in = dropped.elapsed();
        let after = say(&mut self.client)?;
        let control = self.client.call("mcp__notes__list_notes", Object::new())?;
        let held = before && withdrawn && !is_success(&after) && is_success(&control);
        let sent = format!("an indicator names {COLLECTOR}, which the server was started with");
        let reached = format!("{}; tools: {}", texts(&after), tools.join(", "));
        self.step("the same server, once an indicator names it", sent, reached, held)?;
        Ok(withdrawn_in)
    }
}

/// Drops a new version of the indicators in the documented way: written beside, then renamed.
fn drop_pack(home: &Home) -> std::io::Result<()> {
    let folder = home.path().join("policies.d");
    std::fs::create_dir_all(&folder)?;
    let pack = format!(
        "policy: config-screen
name: iocs
version: 9999.0.0
data:
  texts: []
  addresses: []
  hosts: [{COLLECTOR}]
  packages: []
"
    );
    let beside = home.path().join(".demo-iocs.new");
    std::fs::write(&beside, pack)?;
    std::fs::rename(beside, folder.join("demo-iocs.pack.yaml"))
}

/// Returns true where a call was answered by the server, and not with an error.
fn is_success(answer: &Value) -> bool {
    let failed = answer.pointer("/result/isError").and_then(Value::as_bool).unwrap_or(false);
    answer.get("result").is_some() && !failed
}

/// Returns the texts of an answer, or those of its error.
fn texts(answer: &Value) -> String {
    let blocks = answer.pointer("/result/content").and_then(Value::as_array).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    let error = answer.pointer("/error/message").and_then(Value::as_str);
    if texts.is_empty() { error.unwrap_or_default().to_owned() } else { texts.join("\n") }
}

//! Policies and packs that come and go while calls run: what they judge changes, and no call is lost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;
use crate::encode::{component, component_of};

/// Calls in flight at once.
const IN_FLIGHT: usize = 16;

/// A machine that is busy with other tests, and a build without optimisation, compile slowly. Figures of a quiet machine
/// come from measuring, not from this bound.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A client that keeps calls in flight and counts what comes of them.
pub(crate) struct Load {
    pub(crate) client: Client,
    waiting: BTreeMap<u64, Instant>,
    pub(crate) answered: usize,
    latencies: Vec<Duration>,
}

impl Load {
    pub(crate) fn of(client: Client) -> Self {
        Self { client, waiting: BTreeMap::new(), answered: 0, latencies: Vec::new() }
    }

    /// Makes so many calls of a tool that always answers, a number of them in flight, and checks each answer.
    pub(crate) fn run(&mut self, calls: usize) {
        let mut left = calls;
        while left > 0 || !self.waiting.is_empty() {
            while left > 0 && self.waiting.len() < IN_FLIGHT {
                let params = object! { "name" => "mcp__good__plain", "arguments" => object! {} };
                let id = self.client.begin("tools/call", params.into());
                self.waiting.insert(id, Instant::now());
                left -= 1;
            }
            let message = self.client.receive(Duration::from_mins(1)).expect("an answer comes");
            let Some(began) = message.get("id").and_then(Value::as_u64).and_then(|id| self.waiting.remove(&id)) else {
                continue;
            };
            let text = message.pointer("/result/content/0/text").and_then(Value::as_str);
            assert_eq!(text, Some("plain"), "{}", message.to_json());
            self.latencies.push(began.elapsed());
            self.answered += 1;
        }
    }

    /// Keeps calls running until the condition holds, and returns how long that took.
    pub(crate) fn run_until(&mut self, what: &str, mut holds: impl FnMut(&mut Client) -> bool) -> Duration {
        let began = Instant::now();
        while !holds(&mut self.client) {
            assert!(began.elapsed() < PATIENCE, "not after {PATIENCE:?}: {what}");
            self.run(64);
        }
        began.elapsed()
    }

    /// Returns the 99th percentile of the latencies since the last time.
    pub(crate) fn percentile(&mut self) -> Duration {
        self.latencies.sort_unstable();
        let place = self.latencies.len() * 99 / 100;
        let percentile = self.latencies.get(place).copied().unwrap_or_default();
        self.latencies.clear();
        percentile
    }
}

fn config() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = |argument: &str| object! { "command" => "python3", "args" => vec![script.into(), argument.into()] };
    let names = ["config-screen", "environment", "description-scan", "trust", "result-sanitizer", "server-requests"];
    let required: Vec<Value> = names.into_iter().map(Value::from).collect();
    let config = object! {
        "mcp_servers" => object! { "good" => server("normal"), "marked" => server("--report-to=collect.example") },
        "policies" => object! { "required" => required, "allow_unsigned" => true },
        "approvals" => object! { "proof" => "none" },
    };
    Value::from(config).to_json()
}

pub(crate) fn is_refused(client: &mut Client, tool: &str) -> bool {
    let reply = client.call(tool, object! {}.into());
    reply.message.pointer("/result/isError") == Some(&Value::Bool(true)) && reply.text().contains("hostile-rule")
}

pub(crate) fn lists(client: &mut Client, tool: &str) -> bool {
    client.tool_names().iter().any(|name| name == tool)
}

/// Runs a command about policies of running gateways and returns what it prints.
pub(crate) fn policy_command(home: &Home, arguments: &[&str]) -> Value {
    let output = home.command(&[&["policy"], arguments, &["--json"]].concat()).output().expect("the program runs");
    assert!(output.status.success(), "{}", home.stderr());
    portcullis_model::json::parse(output.stdout.trim_ascii()).expect("one document")
}

/// Moves the guest, and returns how many microseconds the gateway took.
pub(crate) fn moved(home: &Home, direction: &str) -> u64 {
    let moved = policy_command(home, &[direction, "guest"]);
    moved.pointer("/moved/0/took_us").and_then(Value::as_u64).expect("one gateway moved it")
}

/// Returns what a policy went through lately in the one gateway, every step of which must have gone well.
fn lately(home: &Home, policy: &str) -> Vec<Value> {
    let status = policy_command(home, &["status"]);
    let pipelines = status.pointer("/gateways/0/pipelines").and_then(Value::as_array).expect("pipelines");
    let of_policy = pipelines.iter().filter(|one| one.get("what").and_then(Value::as_str) == Some(policy));
    let published = |one: &Value| {
        let last = one.get("steps").and_then(Value::as_array).and_then(<[Value]>::last);
        last.and_then(|step| step.get("name")).and_then(Value::as_str) == Some("publish")
    };
    of_policy.filter(|one| published(one)).cloned().collect()
}

/// Indicators beside those of the bundle.
pub(crate) fn indicators() -> String {
    "policy: config-screen\nname: iocs-campaign\nversion: 1.0.0\ndata: {hosts: [collect.example]}\n".to_owned()
}

/// The rules of the bundle with one more, as a new version.
fn rules() -> String {
    let bundled = portcullis::bundle::policy("description-scan").expect("it is in the bundle");
    let (_, rules) = bundled.packs.iter().find(|(name, _)| *name == "rules").expect("it has rules");
    let campaign = "    - {id: campaign, family: concealment, severity: high, level: hide, summary: A campaign., phrases: [frobnicator bulletin]}\n";
    format!("policy: description-scan\n{rules}\n{campaign}").replacen("version: 1.0.0", "version: 9999.0.0", 1)
}

#[test]
fn policies_and_packs_take_effect_while_calls_run_and_no_call_is_lost() {
    let home = Home::new(PROGRAM, &config());
    home.policies();
    let client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let mut load = Load::of(client);
    assert!(lists(&mut load.client, "mcp__good__herald"), "{}", home.stderr());
    load.run(1_000);
    let before = load.percentile();

    home.drop_policy("guest.wasm", &component("denies-named"));
    let module = load.run_until("the module denies", |client| is_refused(client, "mcp__good__frobnicate"));

    // Another version, which does not deny; then back to the former, forth and back again.
    home.drop_policy("guest.wasm", &component_of(""));
    load.run_until("the other module judges", |_| lately(&home, "guest").len() == 2);
    let back = moved(&home, "rollback");
    load.run_until("the former module denies", |client| is_refused(client, "mcp__good__frobnicate"));
    let forth = moved(&home, "promote");
    let again = moved(&home, "rollback");
    assert!(is_refused(&mut load.client, "mcp__good__frobnicate"));

    home.drop_policy("campaign.pack.yaml", indicators().as_bytes());
    let stopped = load.run_until("the server is stopped", |client| !lists(client, "mcp__marked__plain"));

    home.drop_policy("bulletin.pack.yaml", rules().as_bytes());
    let withdrawn = load.run_until("the tool is withdrawn", |client| !lists(client, "mcp__good__herald"));

    // None of these may change anything: a module that is none, and one that takes the name of a bundled policy.
    home.drop_policy("broken.wasm", b"\0asm but not for long");
    home.drop_policy("trust.wasm", &component("denies-named"));
    load.run_until("both are reported", |_| {
        let log = home.stderr();
        ["broken", "trust"].iter().all(|name| log.lines().any(|line| line.contains("refused") && line.contains(name)))
    });
    assert!(is_refused(&mut load.client, "mcp__good__frobnicate"));
    load.run(256);
    let during = load.percentile();
    println!(
        "{} calls answered; module live after {module:?}, server stopped after {stopped:?}, tool withdrawn after \
         {withdrawn:?}; rolled back in {back} µs, promoted in {forth} µs, rolled back in {again} µs; p99 {before:?} before, {during:?} during",
        load.answered
    );
}

#[test]
fn the_removal_of_a_required_policy_changes_nothing_and_is_reported() {
    let config = config().replace("\"server-requests\"", "\"server-requests\",\"guest\"");
    let home = Home::new(PROGRAM, &config);
    home.drop_policy("guest.wasm", &component("denies-named"));
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    assert!(lists(&mut client, "mcp__good__frobnicate"), "{}", home.stderr());
    assert!(is_refused(&mut client, "mcp__good__frobnicate"));
    std::fs::remove_file(home.policies().join("guest.wasm")).expect("the module is removed");
    let began = Instant::now();
    let is_told = |line: &str| line.contains("guest") && line.contains("required");
    while !home.stderr().lines().any(is_told) {
        assert!(began.elapsed() < PATIENCE, "the removal was not reported:\n{}", home.stderr());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(is_refused(&mut client, "mcp__good__frobnicate"));
}

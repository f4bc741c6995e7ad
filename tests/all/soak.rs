//! A long run with kills of servers and reloads of config and policies: no reply is lost, no write is done twice, and
//! memory stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_tests::{Client, Home};

use crate::PROGRAM;
use crate::encode::component;

const SERVERS: [&str; 4] = ["north", "east", "south", "west"];
const IN_FLIGHT: usize = 16;
const KILL_EVERY: Duration = Duration::from_secs(3);
const CONFIG_EVERY: Duration = Duration::from_secs(7);
const POLICY_EVERY: Duration = Duration::from_secs(11);

/// A reply that takes longer is taken for lost: a call waits for a server that starts anew, but not for its timeout.
const LOST: Duration = Duration::from_mins(2);

/// What memory may grow by after the first quarter: caches and the allocator settle within it.
const GROWTH: u64 = 24 * 1024 * 1024;

/// Descriptors that there may be more at the end: a server more that is being started or stopped holds a few.
const MORE_DESCRIPTORS: usize = 32;

/// A number generator whose sequence is the same each run (xorshift, Marsaglia 2003).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("below the bound")
    }
}

/// One call in flight.
struct Call {
    server: &'static str,
    /// The key of a write.
    key: Option<String>,
    began: Instant,
}

/// Returns the config of a turn: one server comes and goes, and another one is changed, each at its own pace.
fn config(folder: &Path, turn: u64) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/counting.py");
    let names = SERVERS.into_iter().chain((turn % 2 == 1).then_some("passing"));
    let mut servers = Object::new();
    for name in names {
        let arguments = vec![script.into(), folder.display().to_string().into(), name.into()];
        let mut server = object! { "command" => "python3", "args" => arguments };
        if name == "west" && turn / 2 % 2 == 1 {
            // Another way to start it: it is replaced while calls to it run.
            server.insert("env", object! { "SOAK" => "1" });
        }
        servers.insert(name, server);
    }
    let trust = object! { "mode" => "off" };
    let required: Vec<Value> =
        ["config-screen", "environment", "description-scan", "result-sanitizer", "server-requests"]
            .into_iter()
            .map(Value::from)
            .collect();
    let policies = object! { "required" => required, "allow_unsigned" => true, "trust" => trust };
    Value::from(object! { "mcp_servers" => servers, "policies" => policies }).to_json()
}

fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or_default() * 1024
}

fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// What is held, a quarter into the run and at its end.
#[derive(Clone, Copy, Debug)]
struct Held {
    resident: u64,
    descriptors: usize,
}

fn held(process: u32) -> Held {
    Held { resident: resident(process), descriptors: descriptors(process) }
}

/// Returns how often the policy was published lately, as the gateway tells it.
fn published(home: &Home) -> usize {
    let output = home.command(&["policy", "status", "--json"]).output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    told.matches("\"guest\"").count()
}

/// Returns how often each key was written.
fn written(folder: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in SERVERS {
        let text = std::fs::read_to_string(folder.join(format!("{name}.writes"))).unwrap_or_default();
        for key in text.lines() {
            *counts.entry(key.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn kill(folder: &Path, server: &str) {
    if let Ok(process) = std::fs::read_to_string(folder.join(format!("{server}.pid"))) {
        // A process that ended already needs no end.
        drop(Command::new("kill").args(["-KILL", process.trim()]).stderr(std::process::Stdio::null()).status());
    }
}

/// Judges what was written, and what is held at the end.
fn judge(written: &BTreeMap<String, usize>, confirmed: &BTreeSet<String>, early: Held, late: Held) {
    let doubled: Vec<_> = written.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "written more than once: {doubled:?}");
    let missing: Vec<_> = confirmed.iter().filter(|key| !written.contains_key(*key)).collect();
    assert!(missing.is_empty(), "confirmed and not written: {missing:?}");
    assert!(late.resident <= early.resident + GROWTH, "memory grew: {early:?}, then {late:?}");
    assert!(late.descriptors <= early.descriptors + MORE_DESCRIPTORS, "descriptors leak: {early:?}, then {late:?}");
}

#[test]
#[ignore = "runs for 20 minutes, or PORTCULLIS_SOAK_SECONDS: cargo test -p portcullis-tests soak -- --ignored --nocapture"]
fn a_soak_loses_no_reply_doubles_no_write_and_keeps_its_memory() {
    let seconds =
        std::env::var("PORTCULLIS_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(1200);
    let length = Duration::from_secs(seconds);
    let traces = tempfile::tempdir().expect("a temporary folder");
    let home = Home::new(PROGRAM, &config(traces.path(), 0));
    let guest = component("denies-named");
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    let gateway = client.process();
    let listed = client.tool_names().len();
    assert!(listed >= 2 * SERVERS.len(), "only {listed} tools are listed:\n{}", home.stderr());

    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut waiting: BTreeMap<u64, Call> = BTreeMap::new();
    let (mut confirmed, mut uncertain) = (BTreeSet::new(), BTreeSet::new());
    let (mut calls, mut kills, mut reloads, mut drops, mut failed, mut early) =
        (0_u64, 0_u64, 0_u64, 0_u64, 0_u64, None);
    let mut taken: Vec<Duration> = Vec::new();
    let began = Instant::now();
    let (mut next_kill, mut next_config, mut next_policy) =
        (began + KILL_EVERY, began + CONFIG_EVERY, began + POLICY_EVERY);
    while began.elapsed() < length || !waiting.is_empty() {
        let now = Instant::now();
        let running = began.elapsed() < length;
        while running && waiting.len() < IN_FLIGHT {
            let server = SERVERS.get(dice.below(SERVERS.len())).copied().unwrap_or_default();
            let key = (dice.below(2) == 0).then(|| format!("key-{calls}"));
            let tool = if key.is_some() { "write" } else { "read" };
            let arguments = object! { "key" => key.clone().unwrap_or_default() };
            let params = object! { "name" => format!("mcp__{server}__{tool}"), "arguments" => arguments };
            let id = client.begin("tools/call", params.into());
            waiting.insert(id, Call { server, key, began: now });
            calls += 1;
        }
        if running && now >= next_kill {
            kill(traces.path(), SERVERS.get(dice.below(SERVERS.len())).copied().unwrap_or_default());
            (kills, next_kill) = (kills + 1, now + KILL_EVERY);
        }
        if running && now >= next_config {
            let beside = home.path().join("config.yaml.new");
            std::fs::write(&beside, config(traces.path(), reloads + 1)).expect("the config is written");
            std::fs::rename(beside, home.path().join("config.yaml")).expect("the config is renamed");
            (reloads, next_config) = (reloads + 1, now + CONFIG_EVERY);
        }
        if running && now >= next_policy {
            let module = home.policies().join("guest.wasm");
            if module.exists() {
                std::fs::remove_file(module).expect("the module is removed");
            } else {
                home.drop_policy("guest.wasm", &guest);
            }
            (drops, next_policy) = (drops + 1, now + POLICY_EVERY);
        }
        if early.is_none() && began.elapsed() > length / 4 {
            early = Some(held(gateway));
        }
        if let Some((_, lost)) = waiting.iter().find(|(_, call)| call.began.elapsed() > LOST) {
            panic!("a call of {} was not answered in {LOST:?}:\n{}", lost.server, home.stderr());
        }
        let Some(message) = client.receive(Duration::from_secs(1)) else { continue };
        let Some(call) = message.get("id").and_then(Value::as_u64).and_then(|id| waiting.remove(&id)) else { continue };
        let is_error = message.pointer("/result/isError") == Some(&Value::Bool(true));
        let done = message.get("result").is_some() && !is_error;
        failed += u64::from(!done);
        taken.push(call.began.elapsed());
        if let Some(key) = call.key {
            if done {
                confirmed.insert(key)
            } else {
                uncertain.insert(key)
            };
        }
    }
    let late = held(gateway);
    let early = early.unwrap_or(late);
    taken.sort_unstable();
    let at = |percent: usize| taken.get(taken.len() * percent / 100).or(taken.last()).copied().unwrap_or_default();
    println!(
        "{calls} calls in {:?}, {failed} failed, p50 {:?}, p99 {:?}, longest {:?}; {kills} kills, {reloads} configs, \
         {drops} changes of policies; memory {} KiB, then {} KiB; descriptors {}, then {}",
        began.elapsed(),
        at(50),
        at(99),
        at(100),
        early.resident / 1024,
        late.resident / 1024,
        early.descriptors,
        late.descriptors,
    );
    assert!(published(&home) > 0, "no policy was published:\n{}", home.stderr());
    assert!(kills > 0 && confirmed.len() > uncertain.len(), "{} confirmed, {} not", confirmed.len(), uncertain.len());
    judge(&written(traces.path()), &confirmed, early, late);
}

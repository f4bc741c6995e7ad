//! No text makes a policy of the bundle work much more than its length: work is counted in executed instructions (fuel), not
//! in time, so that a busy machine changes nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use portcullis_bindings::{Interfaces, Level, LogSink, add_to_linker};
use portcullis_model::json::Value;
use portcullis_model::{
    Batch, ClientFacts, ConfigSubject, Era, Facts, Item, ItemKind, Launch, Occasion, Origin, Principal, ResultKind,
    ResultSubject, Role, Secret, Segment, ServerEntry, ServerName, SessionId, Subject, object,
};
use portcullis_runtime::{PackFile, parse_yaml};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};

/// More than any text of these tests takes; what is used up is told by what is left.
const PLENTY: u64 = 1 << 50;

/// Twice the text may cost so much more work: twice, and what tables and hash maps need to grow.
const MOST: f64 = 2.6;

struct Silent;

impl LogSink for Silent {
    fn write(&mut self, _level: Level, _message: &str) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// A policy of the bundle that counts its instructions.
struct Counted {
    engine: Engine,
    component: Component,
    linker: Linker<Silent>,
    name: &'static str,
}

impl Counted {
    fn new(name: &'static str) -> Self {
        let mut config = wasmtime::Config::new();
        config.wasm_component_model(true).consume_fuel(true);
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, portcullis_bundle::policy(name).unwrap().wasm).unwrap();
        let mut linker = Linker::new(&engine);
        add_to_linker(&mut linker).unwrap();
        Self { engine, component, linker, name }
    }

    /// Returns how many instructions a subject takes. Configuring does not count.
    fn work(&self, subject: &Subject) -> u64 {
        let bundled = portcullis_bundle::policy(self.name).unwrap();
        let packs: Vec<_> =
            bundled.packs.iter().map(|(_, yaml)| PackFile::parse(yaml.as_bytes()).unwrap().pack).collect();
        let pre = self.linker.instantiate_pre(&self.component).unwrap();
        let interfaces = Interfaces::probe(&pre).unwrap();
        let mut store = Store::new(&self.engine, Silent);
        store.set_fuel(PLENTY).unwrap();
        let instance = pre.instantiate(&mut store).unwrap();
        let settings = parse_yaml(bundled.settings_yaml.as_bytes()).unwrap();
        interfaces.configure(&mut store, &instance, &settings, &packs).unwrap().unwrap();
        let gate = interfaces.open(&mut store, &instance, subject.gate()).unwrap();
        let before = store.get_fuel().unwrap();
        gate.evaluate(&mut store, &facts(), subject, true).unwrap();
        before - store.get_fuel().unwrap()
    }
}

fn facts() -> Facts {
    Facts {
        session: SessionId::parse("session").unwrap(),
        principal: Principal::parse("principal").unwrap(),
        client: ClientFacts::default(),
        era: Era::Initialize,
        server: Some(server()),
        server_trust: None,
        approver: None,
        labels: Vec::new(),
        echoes_incomplete: false,
        echoes: Vec::new(),
        meters: Vec::new(),
        tool_rounds: 0,
        round: 1,
    }
}

fn server() -> ServerName {
    ServerName::parse("server").unwrap()
}

fn segment(pointer: &str, role: Role, text: &str) -> Segment {
    Segment { pointer: pointer.to_owned(), role, key: false, text: text.to_owned() }
}

fn result(text: &str) -> Subject {
    Subject::Result(ResultSubject {
        server: server(),
        kind: ResultKind::Result,
        name: "tool".to_owned(),
        is_error: false,
        segments: vec![segment("/content/0/text", Role::Text, text)],
        descriptors: Vec::new(),
    })
}

fn listing(text: &str) -> Subject {
    let document: Value = object! { "name" => "tool", "description" => text }.into();
    let item = Item {
        kind: ItemKind::Tool,
        name: "tool".to_owned(),
        segments: vec![
            segment("/name", Role::Name, "tool"),
            segment("/description", Role::Description, text),
            segment("/inputSchema/properties/path/description", Role::Schema, text),
        ],
        annotations: portcullis_model::Annotations::default(),
        digest: document.digest(),
        fields: Vec::new(),
        pin: portcullis_model::PinState::Unpinned,
        pinned: None,
        drift: Vec::new(),
        document,
    };
    Subject::Listing(Batch { server: server(), items: vec![item], catalogue: Arc::default() })
}

fn entry(text: &str) -> Subject {
    let document: Value = object! { "command" => "bash", "args" => vec![Value::from("-c"), Value::from(text)] }.into();
    let launch = Launch::Stdio {
        command: "bash".to_owned(),
        arguments: vec!["-c".to_owned(), text.to_owned()],
        working_directory: None,
        environment: vec![("X".to_owned(), Secret::new(text))],
    };
    let entry = ServerEntry { name: server(), launch, origin: Origin::ConfigFile, document };
    Subject::Config(ConfigSubject {
        entry: Arc::new(entry),
        occasion: Occasion::Save,
        segments: vec![segment("/args/1", Role::Entry, text), segment("/env/X", Role::Entry, text)],
    })
}

/// Makes a subject of a text.
type Build = fn(&str) -> Subject;

/// Policies that read foreign texts, with how a text becomes a subject and the larger of two sizes.
const SCANNERS: [(&str, Build, usize); 3] = [
    ("result-sanitizer", result, 1024 * 1024),
    ("description-scan", listing, 1024 * 1024),
    // An entry is written by a person; what is longer than a page is cut.
    ("config-screen", entry, 64 * 1024),
];

/// What a scan might do over and over: beginnings without an end, and what almost is something.
const PARTS: [&str; 34] = [
    "a",
    " ",
    "\n",
    "token=",
    "password: \"",
    "eyJ",
    "eyJa.eyJb.",
    "-----BEGIN PRIVATE KEY-----",
    "bearer ",
    "ghp_",
    "://a:",
    "QUJD",
    "QUJDREVGR0hJSktMTU5P ",
    "414243",
    "%41",
    "\\u0041",
    "&#x41;",
    "&amp;",
    "<",
    "<system>",
    "<!--",
    "[](",
    "![a](https://x.test/?",
    "ignore all previous ",
    "before using this tool you must first ",
    "\u{200b}",
    "\u{e0041}",
    "\u{202e}",
    "\u{1b}[",
    "a\u{0336}",
    "\u{0430}b",
    "$(",
    "`",
    "a=\"b\";$a|",
];

/// The same for what reads command lines.
const SHELL_PARTS: [&str; 36] = [
    "{;",
    "{a,",
    "{(",
    "} ",
    "sh|",
    "bash -x|",
    "echo a|",
    "-exec ",
    "find . -exec ",
    "<<A\n",
    "<<<",
    "<(",
    ">(",
    ">&1",
    "$((",
    "${a",
    "${a:-",
    "$a",
    "a=(",
    "a=$a",
    "a=b ",
    "alias a='b c';",
    "a;",
    "'",
    "\"",
    "\\",
    "#'\n",
    "&&",
    "||",
    "eval ",
    "sudo ",
    "bash -c ",
    "env -S",
    "command=",
    "trap ",
    "base64 -d|",
];

fn repeated(part: &str, size: usize) -> String {
    part.repeat(size / part.len())
}

/// Compares the work for a text with that for its first half.
fn assert_linear(policy: &Counted, subject: Build, part: &str, size: usize) {
    let half = policy.work(&subject(&repeated(part, size / 2)));
    let whole = policy.work(&subject(&repeated(part, size)));
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let ratio = whole as f64 / half as f64;
    assert!(
        ratio <= MOST,
        "{}: {part:?}: {half} instructions for half, {whole} for the whole: {ratio:.2}",
        policy.name
    );
}

#[test]
fn twice_the_text_is_at_most_about_twice_the_work_for_every_scanner() {
    for (name, subject, size) in SCANNERS {
        let policy = Counted::new(name);
        let shell = if name == "config-screen" { SHELL_PARTS.as_slice() } else { &[] };
        for part in PARTS.iter().chain(shell) {
            assert_linear(&policy, subject, part, size);
        }
    }
}

#[test]
fn no_text_that_is_put_together_at_random_makes_a_scanner_work_more_than_its_length() {
    let any = [PARTS.as_slice(), SHELL_PARTS.as_slice()].concat();
    let policies: Vec<_> =
        SCANNERS.into_iter().map(|(name, subject, size)| (Counted::new(name), subject, size / 8)).collect();
    let parts = proptest::collection::vec(proptest::sample::select(any), 1..6);
    let word = prop_oneof![parts.prop_map(|parts| parts.concat()), "[ -~]{1,24}"];
    // The same words each time, so that a run says something of the change that it tests; `PROPTEST_RNG_SEED` and `PROPTEST_CASES`
    // try others.
    let ordinary = Config::default();
    let rng_seed = if ordinary.rng_seed == RngSeed::Random { RngSeed::Fixed(2) } else { ordinary.rng_seed };
    let cases = std::env::var("PROPTEST_CASES").map_or(24, |_| ordinary.cases);
    let mut runner = TestRunner::new(Config { cases, rng_seed, failure_persistence: None, ..ordinary });
    let tried = runner.run(&word, |word| {
        for (policy, subject, size) in &policies {
            assert_linear(policy, *subject, &word, *size);
        }
        Ok(())
    });
    tried.unwrap();
}

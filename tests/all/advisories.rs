//! A policy with a capability: what it reaches, what it does not, and what comes of that.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_gates::{Evaluate as _, Evaluation, Isolation};
use portcullis_model::json::{Value, parse, parse_str};
use portcullis_model::{
    Answer, CapabilityGrants, ClientFacts, ConfigSubject, Decision, EnvironmentSubject, Era, Facts, HttpGrant,
    HttpOrigin, Launch, Occasion, Offered, Origin, Platform, Principal, Secret, ServerEntry, ServerName, SessionId,
    Subject, Verdict, object,
};
use portcullis_runtime::{Budget, Capability, Engine, EngineOptions, Evaluator, Inspection, LoadError, Loader};
use portcullis_tests::{Client, Home};

use crate::PROGRAM;

const NAME: &str = "package-advisories";

/// What the stand-in for an OSV endpoint answers to a question: a status, further headers, a body. Nothing for silence.
type Reply = Option<(u16, String, String)>;

/// A stand-in for an OSV endpoint on the loopback interface. Its threads end with the test process.
struct Endpoint {
    port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Endpoint {
    fn new(reply: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (seen, reply) = (Arc::clone(&asked), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, reply) = (Arc::clone(&seen), Arc::clone(&reply));
                std::thread::spawn(move || serve(stream, &seen, &*reply));
            }
        });
        Self { port, asked }
    }

    /// Answers like OSV: by the version that is asked about.
    fn osv() -> Self {
        Self::new(|question| {
            let version = question.get("version").and_then(Value::as_str);
            let name = question.pointer("/package/name").and_then(Value::as_str).unwrap_or_default();
            let answer = match (name, version) {
                ("evil-server", Some("1.0.1")) => {
                    r#"{"vulns":[{"id":"MAL-2025-1","affected":[{"versions":["1.0.1"]}]}]}"#
                }
                ("old-server", Some(_)) => r#"{"vulns":[{"id":"GHSA-abcd-efgh-ijkl"}]}"#,
                _ => "{}",
            };
            Some((200, String::new(), answer.to_owned()))
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Value>>, reply: &dyn Fn(&Value) -> Reply) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let (key, value) = line.split_once(':').unwrap_or_default();
            if key.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let question = parse(&body).unwrap();
        seen.lock().unwrap().push(question.clone());
        let Some((status, headers, body)) = reply(&question) else {
            // Holds the connection open and says nothing.
            std::thread::sleep(Duration::from_mins(2));
            return;
        };
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        if reader.get_mut().write_all([head, body].concat().as_bytes()).is_err() {
            return;
        }
    }
}

fn subject(arguments: &[&str]) -> Subject {
    let launch = Launch::Stdio {
        command: "npx".to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        working_directory: None,
        environment: vec![("TOKEN".to_owned(), Secret::new(["sec", "ret", "-token"].concat()))],
    };
    let name = ServerName::parse("server").unwrap();
    let entry = ServerEntry { name, launch, origin: Origin::ConfigFile, document: Value::Null };
    Subject::Config(ConfigSubject { entry: Arc::new(entry), occasion: Occasion::Start, segments: Vec::new() })
}

fn facts() -> Facts {
    Facts {
        session: SessionId::parse("session").unwrap(),
        principal: Principal::parse("principal").unwrap(),
        client: ClientFacts::default(),
        era: Era::Initialize,
        server: None,
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

fn grant(hosts: &[&str]) -> HttpGrant {
    let hosts = hosts.iter().map(|host| HttpOrigin::parse(host).unwrap()).collect();
    // A machine that is busy with other tests takes its time.
    HttpGrant { hosts, timeout: Duration::from_secs(30), wall: Duration::from_mins(2), ..HttpGrant::default() }
}

fn loader() -> Loader {
    Loader::without_cache(Engine::new(EngineOptions::default()).unwrap()).unwrap()
}

fn evaluator(endpoint: &str, grant: HttpGrant) -> Evaluator {
    evaluator_of(&loader(), endpoint, grant)
}

fn evaluator_of(loader: &Loader, endpoint: &str, grant: HttpGrant) -> Evaluator {
    let settings = object! { "endpoint" => endpoint }.into();
    let grants = CapabilityGrants { http: Some(grant), ..CapabilityGrants::default() };
    let wasm = portcullis_bundle::policy(NAME).unwrap().wasm;
    let policy = loader.load_granted(wasm, &settings, &[], &Budget::DEFAULT, &grants).unwrap();
    policy.evaluator(Budget::DEFAULT, Isolation::Fresh)
}

fn judge(evaluator: &Evaluator, arguments: &[&str]) -> Verdict {
    let evaluation = evaluator.evaluate_here(&facts(), &subject(arguments));
    match evaluation.outcome.unwrap() {
        Answer::Verdict(verdict) => verdict,
        other @ (Answer::Verdicts(_) | Answer::Selection(_)) => panic!("{other:?}"),
    }
}

fn codes(verdict: &Verdict) -> Vec<&str> {
    match &verdict.decision {
        Decision::Allow => Vec::new(),
        Decision::Ask(questions) => questions.iter().map(|question| question.code.as_str()).collect(),
        Decision::Deny(denial) => vec![denial.code.as_str()],
    }
}

#[test]
fn a_malicious_package_is_refused_and_others_pass_and_each_is_asked_about_once() {
    let endpoint = Endpoint::osv();
    let evaluator = evaluator(&endpoint.url(), grant(&[&endpoint.url()]));
    for _ in 0..3 {
        assert_eq!(codes(&judge(&evaluator, &["-y", "evil-server@1.0.1"])), ["malicious-package"]);
        assert!(codes(&judge(&evaluator, &["-y", "evil-server@1.0.2"])).is_empty());
        let old = judge(&evaluator, &["old-server@1.0.0"]);
        assert!(codes(&old).is_empty() && old.findings[0].message.contains("GHSA-abcd-efgh-ijkl"), "{old:?}");
    }
    let asked = endpoint.asked();
    assert_eq!(asked.len(), 3, "the host gives an answer again: {asked:?}");
    assert_eq!(asked[0].pointer("/package/ecosystem").and_then(Value::as_str), Some("npm"));
}

#[test]
fn without_a_cache_every_evaluation_asks() {
    let endpoint = Endpoint::osv();
    let grant = HttpGrant { cache: Duration::ZERO, ..grant(&[&endpoint.url()]) };
    let evaluator = evaluator(&endpoint.url(), grant);
    (0..2).for_each(|_| drop(judge(&evaluator, &["evil-server@1.0.1"])));
    assert_eq!(endpoint.asked().len(), 2);
}

#[test]
fn what_the_grant_does_not_name_is_not_reached() {
    let endpoint = Endpoint::osv();
    for hosts in [vec![], vec!["api.osv.dev"], vec!["http://127.0.0.1:1"]] {
        let verdict = judge(&evaluator(&endpoint.url(), grant(&hosts)), &["evil-server@1.0.1"]);
        assert_eq!(codes(&verdict), ["no-answer"], "{hosts:?}");
        assert!(verdict.findings[0].message.contains("grant does not name"), "{verdict:?}");
    }
    // A name that leads to this machine is not this machine's address.
    let named = format!("http://localhost:{}", endpoint.port);
    let verdict = judge(&evaluator(&named, grant(&[&named])), &["evil-server@1.0.1"]);
    assert!(verdict.findings[0].message.contains("not public"), "{verdict:?}");
    let loopback = vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    let named_too = HttpGrant { addresses: loopback, ..grant(&[&named]) };
    assert!(endpoint.asked().is_empty());
    assert_eq!(codes(&judge(&evaluator(&named, named_too), &["evil-server@1.0.1"])), ["malicious-package"]);
}

#[test]
fn an_endpoint_that_is_silent_redirects_or_talks_too_much_leads_to_a_question() {
    let elsewhere = Endpoint::osv();
    let location = format!("location: {}/v1/query\r\n", elsewhere.url());
    let replies: [(Reply, &str); 5] = [
        (None, "in time"),
        (Some((307, location, String::new())), "status 307"),
        (Some((200, String::new(), "x".repeat(5_000))), "longer than the grant allows"),
        (Some((503, String::new(), String::new())), "status 503"),
        (Some((200, String::new(), "<html>".to_owned())), "no list of advisories"),
    ];
    for (reply, expected) in replies {
        let silent = reply.is_none();
        let endpoint = Endpoint::new(move |_| reply.clone());
        let mut grant = HttpGrant { response_bytes: 4_096, ..grant(&[&endpoint.url(), &elsewhere.url()]) };
        if silent {
            grant.timeout = Duration::from_millis(300);
        }
        let verdict = judge(&evaluator(&endpoint.url(), grant), &["evil-server@1.0.1"]);
        assert_eq!(codes(&verdict), ["no-answer"], "{expected}");
        assert!(verdict.findings[0].message.contains(expected), "{expected}: {verdict:?}");
    }
    assert!(elsewhere.asked().is_empty(), "no redirect is followed");
}

#[test]
fn requests_of_one_evaluation_are_counted() {
    let endpoint = Endpoint::osv();
    let grant = HttpGrant { requests: 1, ..grant(&[&endpoint.url()]) };
    let verdict = judge(&evaluator(&endpoint.url(), grant), &["-p", "one@1.0.0,two@1.0.0", "one"]);
    assert_eq!((codes(&verdict), endpoint.asked().len()), (vec!["no-answer"], 1));
}

/// Evaluates in the way that a gate does.
fn evaluate(evaluator: &Evaluator, subject: &Subject) -> Evaluation {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(evaluator.evaluate(&facts(), subject))
}

#[test]
fn a_policy_that_waits_for_the_network_keeps_no_other_policy_waiting() {
    let endpoint = Endpoint::new(|_| None);
    let loader = loader();
    let patient =
        HttpGrant { timeout: Duration::from_mins(2), wall: Duration::from_mins(3), ..grant(&[&endpoint.url()]) };
    let waiting = Arc::new(evaluator_of(&loader, &endpoint.url(), patient));
    assert!(!waiting.is_pure(), "what the network said cannot be judged again");
    let answered = Arc::new(AtomicUsize::new(0));
    // More than there are threads for evaluations of any kind.
    for _ in 0..16 {
        let (waiting, answered) = (Arc::clone(&waiting), Arc::clone(&answered));
        std::thread::spawn(move || {
            drop(evaluate(&waiting, &subject(&["evil-server@1.0.1"])));
            answered.fetch_add(1, Ordering::SeqCst);
        });
    }
    let began = std::time::Instant::now();
    while endpoint.asked().is_empty() {
        assert!(began.elapsed() < Duration::from_mins(1), "nothing was asked");
        std::thread::sleep(Duration::from_millis(20));
    }
    let other = portcullis_bundle::policy("environment").unwrap();
    let other = loader.load(other.wasm, &Value::Null, &[], &Budget::DEFAULT).unwrap();
    let other = other.evaluator(Budget::DEFAULT, Isolation::Fresh);
    let Subject::Config(config) = subject(&["server"]) else { panic!("an entry") };
    let offered = vec![Offered { name: "PATH".to_owned(), tagged: false }];
    let subject = Subject::Environment(EnvironmentSubject { config, platform: Platform::Linux, offered });
    // It has not proved to be fast yet, so that it waits for a thread of the pool.
    assert!(!other.is_inline());
    evaluate(&other, &subject).outcome.unwrap();
    assert_eq!(answered.load(Ordering::SeqCst), 0, "the others still wait");
}

#[test]
fn without_a_grant_it_is_refused_with_the_import_named() {
    let bundled = portcullis_bundle::policy(NAME).unwrap();
    assert!(bundled.optional && Inspection::of(bundled.wasm).unwrap().capabilities.contains(&Capability::OutgoingHttp));
    let error = loader().load(bundled.wasm, &Value::Null, &[], &Budget::DEFAULT).unwrap_err();
    assert!(matches!(&error, LoadError::NotGranted { import } if import.starts_with("wasi:http/")), "{error}");
}

fn config(more: &Value) -> String {
    let mut config = object! {
        "mcp_servers" => object! { "evil" => object! { "command" => "npx", "args" => vec!["evil-server@1.0.1".into()] } },
    };
    if !more.is_null() {
        config.insert("policies", object! { NAME => more.clone() });
    }
    Value::from(config).to_json()
}

#[test]
fn in_a_gateway_it_is_off_until_the_config_grants_it_the_network_and_then_no_malicious_package_starts() {
    let endpoint = Endpoint::osv();
    let http = object! { "hosts" => vec![endpoint.url().into()], "timeout" => 30_u64, "wall" => 120_u64 };
    let on = object! {
        "settings" => object! { "endpoint" => endpoint.url() },
        "grants" => object! { "http" => http },
    };
    let home = Home::new(PROGRAM, &config(&on.into()));
    let mut client = Client::connect(&mut home.command(&["run"]), object! {}.into());
    client.tool_names();
    assert!(client.close(Duration::from_mins(1)), "the gateway ends with its client");
    let output = home.command(&["journal", "query", "--gate", "config", "--decision", "refused", "--json"]).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let passages = parse_str(output.trim()).unwrap();
    assert!(passages.to_json().contains("malicious-package"), "{}\n{}", passages.to_json(), home.stderr());

    let off = Home::new(PROGRAM, &config(&Value::Null));
    let listed = off.command(&["policy", "list", "--json"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&listed.stdout).contains(NAME));
    let ungranted = Home::new(PROGRAM, &config(&object! {}.into()));
    let listed = ungranted.command(&["policy", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("which is not granted"), "{listed}\n{}", ungranted.stderr());
}

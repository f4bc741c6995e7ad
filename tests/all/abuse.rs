//! Clients over HTTP that mean no good or break off, and servers that misbehave: nothing of them stays behind, and others
//! are served meanwhile.
//!
//! Each abuse prints what it cost the others (with `--nocapture`): how long their calls took, and what the gateway held
//! before, at most and after. Judged is what a gateway holds, and that every other call is answered; how long one takes
//! depends on the machine.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;
use portcullis_tests::Home;

use crate::PROGRAM;
use crate::serving::{INITIALIZE, PATIENCE, Serving, wait_until};

/// Streams and sleepers of the runtime come and go by a few.
const SLACK: usize = 8;

/// Memory that a gateway may hold more after an abuse: what the allocator and its caches keep. A leak of each connection
/// or answer of an abuse would be many times as much.
const GROWTH: u64 = 96 * 1024 * 1024;

/// What a gateway holds: descriptors, the processes below it, and its own memory.
#[derive(Clone, Debug)]
struct Holding {
    descriptors: usize,
    processes: Vec<u32>,
    resident: u64,
}

fn holding(serving: &Serving) -> Holding {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", serving.process())).expect("it runs").count();
    let mut processes = serving.descendants();
    processes.sort_unstable();
    Holding { descriptors, processes, resident: memory(serving, "VmRSS:") }
}

/// Returns a line of the memory of a gateway, in bytes.
fn memory(serving: &Serving, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.process())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or_default() * 1024
}

fn open() -> (Home, Serving) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    let server = || object! { "command" => "python3", "args" => vec![script.into()] };
    let servers = object! { "good" => server(), "bad" => server() };
    let home = Home::new(PROGRAM, &Value::from(object! { "mcp_servers" => servers }).to_json());
    let serving = Serving::start(&home, &["--without-token"]);
    let client = Caller::introduce(&serving);
    for server in ["good", "bad"] {
        assert_eq!(client.text_of(&format!("mcp__{server}__plain")), "plain");
    }
    (home, serving)
}

/// One client with a session of its own.
struct Caller<'a> {
    serving: &'a Serving,
    session: String,
}

impl<'a> Caller<'a> {
    fn introduce(serving: &'a Serving) -> Self {
        let (status, session, body) = serving.post(&[], INITIALIZE);
        assert_eq!(status, 200, "{body}");
        let caller = Self { serving, session };
        caller.ask("tools/list", "{}");
        caller
    }

    fn ask(&self, method: &str, params: &str) -> Value {
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let (status, _, body) = self.serving.post(&[("Mcp-Session-Id", &self.session)], &request);
        assert_eq!(status, 200, "{body}");
        // An answer that took long comes as an event.
        let json = body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(&body);
        parse_str(json).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    fn call(&self, tool: &str) -> Value {
        self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#))
    }

    fn text_of(&self, tool: &str) -> String {
        let answer = self.call(tool);
        let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("{}", answer.to_json())).to_owned()
    }
}

/// Calls of others that an abuse goes on for, unless it has been repeated often enough.
const WANTED: usize = 100;
const MOST_ROUNDS: usize = 25;

/// Lets an abuse happen, time and again, while another client calls another server over and over, waits until the gateway
/// holds no more than before, and returns what that came to.
#[must_use]
fn during(what: &str, home: &Home, serving: &Serving, mut abuse: impl FnMut()) -> String {
    let before = holding(serving);
    let (over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut taken: Vec<Duration> = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let client = Caller::introduce(serving);
            let mut taken = Vec::new();
            while !over.load(Ordering::Relaxed) || taken.is_empty() {
                let began = Instant::now();
                assert_eq!(client.text_of("mcp__good__plain"), "plain");
                taken.push(began.elapsed());
                count.fetch_add(1, Ordering::Relaxed);
            }
            taken
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..MOST_ROUNDS {
                abuse();
                if count.load(Ordering::Relaxed) >= WANTED {
                    break;
                }
            }
        }));
        over.store(true, Ordering::Relaxed);
        let taken = others.join().expect("the other calls are answered");
        outcome.unwrap_or_else(|_| panic!("{what}:\n{}", home.stderr()));
        taken
    });
    wait_until("nothing stays behind", || holding(serving).descriptors <= before.descriptors + SLACK);
    let after = holding(serving);
    taken.sort_unstable();
    let at = |percent: usize| taken.get(taken.len() * percent / 100).or(taken.last()).copied().unwrap_or_default();
    let mib = |bytes: u64| bytes / 1024 / 1024;
    assert!(after.processes.len() <= before.processes.len(), "{what}: {before:?} became {after:?}");
    assert!(after.resident <= before.resident + GROWTH, "{what}: {before:?} became {after:?}");
    format!(
        "{what}: {} calls of others, p50 {:?}, p99 {:?}; descriptors {} then {}; processes {} then {}; memory {} MiB, at most {}, then {}",
        taken.len(),
        at(50),
        at(99),
        before.descriptors,
        after.descriptors,
        before.processes.len(),
        after.processes.len(),
        mib(before.resident),
        mib(memory(serving, "VmHWM:")),
        mib(after.resident),
    )
}

fn connect(serving: &Serving) -> TcpStream {
    let stream = TcpStream::connect(serving.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream
}

fn head(serving: &Serving, length: u64) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        serving.address()
    )
}

/// Returns the status that a request is answered with.
fn status(stream: &mut TcpStream) -> String {
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("it answers");
    String::from_utf8_lossy(start.get(9..).unwrap_or_default()).into_owned()
}

#[test]
fn who_is_slow_or_asks_too_much_or_breaks_off_is_not_remembered() {
    let (home, serving) = open();
    let mut held = Vec::new();
    let told = during("heads and bodies that never end", &home, &serving, || {
        for _ in 0..25 {
            let mut slow = connect(&serving);
            slow.write_all(b"POST /mcp HTTP/1.1\r\nHos").expect("it reads");
            held.push(slow);
            let mut slow = connect(&serving);
            slow.write_all(head(&serving, 1_000).as_bytes()).expect("it reads");
            slow.write_all(b"{\"jsonrpc\"").expect("it reads");
            held.push(slow);
        }
        std::thread::sleep(Duration::from_secs(1));
        held.clear();
    });
    println!("{told}");
    let told = during("one end closed, the other one not", &home, &serving, || {
        for _ in 0..25 {
            let mut half = connect(&serving);
            half.write_all(b"POST /mcp HTTP/1.1\r\nHos").expect("it reads");
            half.shutdown(Shutdown::Write).expect("it is open");
            held.push(half);
        }
        std::thread::sleep(Duration::from_secs(1));
        held.clear();
    });
    println!("{told}");
    let told = during("reset with an answer on its way", &home, &serving, || {
        for _ in 0..50 {
            let mut broken = connect(&serving);
            broken.write_all(head(&serving, 2).as_bytes()).expect("it reads");
            broken.write_all(b"{}").expect("it reads");
        }
    });
    println!("{told}");
    let told = during("larger than any message", &home, &serving, || {
        for _ in 0..25 {
            let mut large = connect(&serving);
            large.write_all(head(&serving, 1 << 40).as_bytes()).expect("it reads");
            assert_eq!(status(&mut large), "413");
            let mut large = connect(&serving);
            let field = format!("GET /mcp HTTP/1.1\r\nHost: x\r\nX-Large: {}\r\n\r\n", "x".repeat(256 * 1024));
            // It may answer and close before all is sent.
            let _ = large.write_all(field.as_bytes());
        }
    });
    println!("{told}");
}

#[test]
fn a_thousand_connections_that_come_and_go_leave_nothing_behind() {
    let (home, serving) = open();
    let told = during("a thousand connections", &home, &serving, || {
        for number in 0..1_000 {
            let mut stream = connect(&serving);
            match number % 4 {
                0 => {}
                1 => drop(stream.write_all(b"\0\x16garbage\r\n\r\n")),
                2 => drop(stream.write_all(head(&serving, 100).as_bytes())),
                _ => {
                    stream.write_all(head(&serving, 2).as_bytes()).expect("it reads");
                    stream.write_all(b"{}").expect("it reads");
                    assert_eq!(status(&mut stream), "400");
                }
            }
        }
    });
    println!("{told}");
}

#[test]
fn a_server_that_misbehaves_costs_other_servers_nothing() {
    for tool in [
        "noise",
        "huge_line",
        "duplicate_keys",
        "lone_surrogate",
        "invalid_utf8",
        "odd_code",
        "no_id",
        "twice",
        "cancels",
    ] {
        // Each with a gateway of its own: a server that failed too often is left alone for a while.
        let (home, serving) = open();
        let client = Caller::introduce(&serving);
        let told = during(tool, &home, &serving, || {
            let answer = client.call(&format!("mcp__bad__{tool}"));
            assert!(answer.get("result").is_some() || answer.get("error").is_some(), "{}", answer.to_json());
        });
        println!("{told}");
    }
}

#[test]
fn a_server_that_dies_costs_other_servers_nothing_and_comes_back() {
    let (home, serving) = open();
    let client = Caller::introduce(&serving);
    let mut is_dead = false;
    let told = during("dies in a call", &home, &serving, || {
        if !std::mem::replace(&mut is_dead, true) {
            let answer = client.call("mcp__bad__die").to_json();
            assert!(answer.contains("bad"), "{answer}");
        }
        // It is started again, so that what there is of it afterwards is what was there before.
        let is_back =
            |answer: &Value| answer.pointer("/result/content/0/text").and_then(Value::as_str) == Some("plain");
        wait_until("it is back", || is_back(&client.call("mcp__bad__plain")));
    });
    println!("{told}");
}

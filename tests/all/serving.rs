//! `portcullis serve`, as a shell and a client over HTTP see it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::Home;

use crate::PROGRAM;

/// Everything here happens within this, or has hung.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn config() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/misbehaving.py");
    format!("mcp_servers:\n  one: {{command: python3, args: ['{script}']}}\n")
}

pub(crate) fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).output().expect("the program runs")
}

/// A gateway that listens; it ends with the value.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl Serving {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--address", "127.0.0.1:0"], arguments].concat();
        let mut child = home.command(&arguments).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("the output was piped");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.split_once("://").and_then(|(_, line)| line.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line:?}\n{}", home.stderr())).to_owned();
        Self { child, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message; returns status, session and body.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        self.post_to("/mcp", headers, body)
    }

    pub(crate) fn post_to(&self, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let json = [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
        let (status, head, body) = self.request("POST", path, &[&json, headers].concat(), body);
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap_or_default();
        (status, session.to_owned(), body)
    }

    /// Sends a request; returns status, head and body.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_owned(), body.to_owned())
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Returns the processes below it.
    pub(crate) fn descendants(&self) -> Vec<u32> {
        let mut found = vec![self.child.id()];
        let mut next = 0;
        while let Some(&process) = found.get(next) {
            next += 1;
            let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            for task in tasks {
                let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
                found.extend(children.split(' ').filter_map(|child| child.trim().parse::<u32>().ok()));
            }
        }
        found.split_off(1)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// Introduces a client, calls a tool of its server, and returns the session.
pub(crate) fn call(serving: &Serving, authorization: &[(&str, &str)]) -> String {
    let (status, session, body) = serving.post(authorization, INITIALIZE);
    assert_eq!(status, 200, "{body}");
    let headers = [authorization, &[("Mcp-Session-Id", session.as_str())]].concat();
    let (_, _, body) = serving.post(&headers, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(body.contains("mcp__one__plain"), "{body}");
    let params = r#"{"name":"mcp__one__plain","arguments":{}}"#;
    let request = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#);
    let (status, _, body) = serving.post(&headers, &request);
    let answer = parse_str(&body).expect("JSON");
    assert_eq!(status, 200);
    assert_eq!(answer.pointer("/result/content/0/text").and_then(Value::as_str), Some("plain"), "{body}");
    session
}

#[test]
fn serve_lets_in_who_shows_the_token_and_ends_in_good_order() {
    let home = Home::new(PROGRAM, &config());
    let shown = run(&home, &["token", "show"]);
    assert!(shown.status.success(), "{}", home.stderr());
    assert_eq!(run(&home, &["token", "show"]).stdout, shown.stdout, "there is one token");
    let token = String::from_utf8(shown.stdout).expect("text");
    assert_eq!(token.trim_end().len(), 43);
    let serving = Serving::start(&home, &[]);
    assert_eq!(serving.post(&[], INITIALIZE).0, 401);
    assert_eq!(serving.post(&[("Authorization", "Bearer made-up")], INITIALIZE).0, 401);
    let bearer = format!("Bearer {}", token.trim_end());
    call(&serving, &[("Authorization", &bearer)]);
    assert!(!home.stderr().contains(token.trim_end()), "no log has the token");
    let below = serving.descendants();
    assert!(below.len() >= 2, "a supervisor and its server: {below:?}");
    serving.signal("-TERM");
    let mut serving = serving;
    let ended = serving.child.wait().expect("it ends");
    assert!(ended.success(), "{ended}\n{}", home.stderr());
    let alive = |process: &u32| std::path::Path::new(&format!("/proc/{process}")).exists();
    wait_until("no process is left", || !below.iter().any(alive));
}

#[cfg(unix)]
#[test]
fn the_token_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::cold(PROGRAM, &config());
    assert!(run(&home, &["token", "show"]).status.success());
    let key = home.path().join("serve.key");
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&key), 0o600);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    let refused = run(&home, &["token", "show"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(4), 0), "others could have read it");
}

#[test]
fn a_gateway_that_is_killed_leaves_no_process_behind() {
    let home = Home::new(PROGRAM, &config());
    let serving = Serving::start(&home, &["--without-token"]);
    call(&serving, &[]);
    let below = serving.descendants();
    assert!(below.len() >= 2, "a supervisor and its server: {below:?}");
    serving.signal("-KILL");
    let alive = |process: &u32| std::path::Path::new(&format!("/proc/{process}")).exists();
    wait_until("no process is left", || !below.iter().any(alive));
}

#[test]
fn serve_is_reached_from_elsewhere_only_where_it_asks_who_comes_and_nobody_reads_along() {
    let home = Home::cold(PROGRAM, &config());
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        for more in [&[][..], &["--without-token"], &["--trusted-proxy", "192.0.2.2"]] {
            let refused = run(&home, &[&["serve", "--address", address], more].concat());
            assert_eq!(refused.status.code(), Some(2), "{address} {more:?}");
        }
    }
    let told = home.stderr();
    for why in ["nothing asks who they are", "what passes is not encrypted", "clients must know it by a name"] {
        assert!(told.contains(why), "{told}");
    }
    for url in ["http://localhost.evil.example", "http://gateway.example", "https://gateway.example/path", "gateway"] {
        assert_eq!(run(&home, &["serve", "--public-url", url]).status.code(), Some(2), "{url}");
    }
    assert_eq!(run(&home, &["serve", "--metrics", "0.0.0.0:0"]).status.code(), Some(2));
}

//! Logins at remote servers: `login`, `reauth`, `logout`, and what a running gateway makes of them.

use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::{Home, consent};

use crate::PROGRAM;
use crate::serving::{INITIALIZE, PATIENCE, Serving, run, wait_until};

/// A remote server with its authorization server; it ends with the value.
pub(crate) struct Remote {
    child: Child,
    _input: ChildStdin,
    address: String,
}

impl Remote {
    pub(crate) fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/authorization.py");
        let mut child = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says its port");
        let input = child.stdin.take().expect("piped");
        Self { child, _input: input, address: format!("127.0.0.1:{}", line.trim()) }
    }

    pub(crate) fn config(&self) -> String {
        format!("mcp_servers:\n  remote: {{url: 'http://{}/mcp', auth: oauth}}\n", self.address)
    }

    pub(crate) fn set(&self, settings: &str) {
        assert_eq!(request(&self.address, "POST", "/control", settings).0, 200);
    }

    pub(crate) fn counted(&self) -> Value {
        parse_str(&request(&self.address, "GET", "/control", "").2).expect("JSON")
    }

    fn count(&self, what: &str) -> u64 {
        self.counted().get(what).and_then(Value::as_u64).expect("a count")
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request; returns status, head and body.
fn request(address: &str, method: &str, path: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

fn location(head: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.to_owned())
    })
}

/// Runs a command that logs in, with a browser that consents.
pub(crate) fn log_in(home: &Home, arguments: &[&str], browser: impl FnOnce(&str) -> String) -> Output {
    let arguments = [arguments, &["--no-browser"]].concat();
    let mut command = home.command(&arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut page = String::new();
    output.read_line(&mut page).expect("it prints the page");
    if page.starts_with("http") {
        let mut input = child.stdin.take().expect("piped");
        writeln!(input, "what is no address").expect("it reads");
        // It may have heard of the browser by itself already.
        let _read = writeln!(input, "{}", browser(page.trim()));
        drop(input);
    }
    let mut stdout = page.into_bytes();
    output.read_to_end(&mut stdout).expect("it prints what came of it");
    Output { status: child.wait().expect("it ends"), stdout, stderr: Vec::new() }
}

/// The browser of somebody whom the remote server knows: it is sent back at once.
pub(crate) fn known(page: &str) -> String {
    let (authority, path) = page.strip_prefix("http://").expect("of this machine").split_once('/').expect("a path");
    let (status, head, body) = request(authority, "GET", &format!("/{path}"), "");
    assert_eq!(status, 302, "{head}{body}");
    location(&head).expect("a location")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns every file with tokens, with what is in it.
fn kept(home: &Home) -> Vec<String> {
    let folder = std::fs::read_dir(home.path().join("tokens")).expect("the folder of tokens");
    let files =
        folder.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    files.map(|path| std::fs::read_to_string(path).expect("a file")).collect()
}

/// Calls the remote server's tool; returns the text of the answer, error or not.
fn remote_call(serving: &Serving) -> String {
    let session = serving.post(&[], INITIALIZE).1;
    let headers = [("Mcp-Session-Id", session.as_str())];
    let params = r#"{"name":"mcp__remote__plain","arguments":{}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#);
    serving.post(&headers, &body).2
}

#[test]
fn a_login_is_proven_before_it_counts_and_renewed_while_it_is_used() {
    let remote = Remote::start();
    let home = Home::new(PROGRAM, &remote.config());
    let serving = Serving::start(&home, &["--without-token"]);
    remote_call(&serving);
    wait_until("the gateway says what is missing", || home.stderr().contains("`portcullis login remote`"));
    let done = log_in(&home, &["login", "remote"], known);
    assert!(done.status.success(), "{}{}", text(&done), home.stderr());
    assert!(text(&done).contains("remote: logged in at http://127.0.0.1:"), "{}", text(&done));
    wait_until("the running gateway takes the new tokens", || remote_call(&serving).contains(r#""text":"remote""#));
    let before = kept(&home);
    assert_eq!(before.len(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::fs::metadata(home.path().join("tokens")).expect("a folder").permissions().mode();
        assert_eq!(folder & 0o777, 0o700);
    }
    // The server forgets the token: it is renewed, once for all calls, and nobody notices.
    remote.set(r#"{"revoke":true}"#);
    let refreshed = remote.count("refreshed");
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| remote_call(&serving))).collect();
        for call in calls {
            let answer = call.join().expect("a call");
            assert!(answer.contains(r#""text":"remote""#), "{answer}");
        }
    });
    assert_eq!(remote.count("refreshed"), refreshed + 1);
    assert_ne!(kept(&home), before, "the new token is kept");
    let told = home.stderr();
    for secret in ["acc-", "ref-"] {
        assert!(!told.contains(secret), "no log has `{secret}`: {told}");
    }
    assert!(run(&home, &["logout", "remote"]).status.success());
    wait_until("the running gateway has no token any more", || {
        remote_call(&serving).contains("portcullis login remote")
    });
    assert_eq!(run(&home, &["logout", "remote"]).status.code(), Some(1), "nobody is logged in");
}

#[test]
fn a_login_that_fails_leaves_the_former_one_as_it_was() {
    let remote = Remote::start();
    let home = Home::new(PROGRAM, &remote.config());
    assert!(log_in(&home, &["login", "remote"], known).status.success(), "{}", home.stderr());
    let before = kept(&home);
    for (settings, back) in [
        (r#"{"token":"broken"}"#, r#"{"token":"good"}"#),
        (r#"{"issuer":"http://127.0.0.1:1"}"#, r#"{"issuer":null}"#),
        // It gives a token, and then does not take it.
        (r#"{"rejects":true,"refresh":"refused"}"#, r#"{"rejects":false,"refresh":"good"}"#),
    ] {
        remote.set(settings);
        for command in [&["login", "remote"][..], &["reauth", "--all"]] {
            let failed = log_in(&home, command, known);
            assert_eq!(failed.status.code(), Some(1), "{settings}: {}{}", text(&failed), home.stderr());
            assert_eq!(kept(&home), before, "{settings}");
        }
        remote.set(back);
    }
    let told = home.stderr();
    for why in [
        "no token came for `remote`, and what was there stays",
        "the former login stays",
        "another authorization server",
    ] {
        assert!(told.contains(why), "{why}: {told}");
    }
    assert!(run(&home, &["test", "remote"]).status.success(), "{}", home.stderr());
    assert!(log_in(&home, &["reauth", "--all"], known).status.success());
    assert_ne!(kept(&home), before);
}

#[test]
fn a_renewal_that_is_refused_says_so_until_somebody_logs_in_and_one_that_is_late_does_not_harm() {
    let remote = Remote::start();
    let home = Home::new(PROGRAM, &remote.config());
    assert!(log_in(&home, &["login", "remote"], known).status.success(), "{}", home.stderr());
    let serving = Serving::start(&home, &["--without-token"]);
    wait_until("the server is up", || remote_call(&serving).contains(r#""text":"remote""#));
    let before = kept(&home);
    remote.set(r#"{"refresh":"broken","revoke":true}"#);
    let answer = remote_call(&serving);
    assert!(answer.contains("could not be renewed"), "{answer}");
    assert_eq!(kept(&home), before, "the tokens stay");
    remote.set(r#"{"refresh":"good"}"#);
    wait_until("the server is up again", || remote_call(&serving).contains(r#""text":"remote""#));
    remote.set(r#"{"refresh":"refused","revoke":true}"#);
    wait_until("the gateway says what helps", || remote_call(&serving).contains("portcullis login remote"));
    assert!(log_in(&home, &["reauth", "remote"], known).status.success(), "{}", home.stderr());
    wait_until("the new login counts", || remote_call(&serving).contains(r#""text":"remote""#));
}

#[test]
fn a_call_that_needs_more_says_so_and_the_next_login_asks_for_it() {
    let remote = Remote::start();
    let home = Home::new(PROGRAM, &remote.config());
    assert!(log_in(&home, &["login", "remote"], known).status.success(), "{}", home.stderr());
    let serving = Serving::start(&home, &["--without-token"]);
    wait_until("the server is up", || remote_call(&serving).contains(r#""text":"remote""#));
    remote.set(r#"{"needs":["write"]}"#);
    let answer = remote_call(&serving);
    assert!(answer.contains("portcullis login remote") && answer.contains("does not reach far enough"), "{answer}");
    assert!(log_in(&home, &["login", "remote"], known).status.success(), "{}", home.stderr());
    let asked = remote.counted();
    let asked = asked.get("asked").and_then(Value::as_array).and_then(<[Value]>::last).and_then(Value::as_str);
    assert_eq!(asked, Some("read write"), "what was there and what was missing");
    wait_until("the new login counts", || remote_call(&serving).contains(r#""text":"remote""#));
}

#[test]
fn what_is_no_server_with_a_login_is_not_logged_in_at() {
    let home = Home::cold(PROGRAM, "mcp_servers:\n  local: {command: 'true'}\n");
    assert_eq!(run(&home, &["login", "local"]).status.code(), Some(2));
    assert_eq!(run(&home, &["login", "unknown"]).status.code(), Some(2));
    assert!(home.stderr().contains("auth: oauth"), "{}", home.stderr());
}

#[test]
fn one_gateway_logs_in_at_another_one() {
    let far = Home::new(PROGRAM, &crate::serving::config());
    let remote = Serving::start(&far, &["--register-clients"]);
    let config = format!("mcp_servers:\n  far: {{url: 'http://{}/mcp', auth: oauth}}\n", remote.address);
    let near = Home::new(PROGRAM, &config);
    let done = log_in(&near, &["login", "far"], |page| consent(&far, page));
    assert!(done.status.success(), "{}{}", text(&done), near.stderr());
    let listed = text(&run(&near, &["list", "--json"]));
    assert!(listed.contains("mcp__far__mcp__one__plain"), "{listed}");
    let consents = parse_str(&text(&run(&far, &["client", "consents", "--json"]))).expect("JSON");
    assert_eq!(consents.pointer("/consents").and_then(Value::as_array).map(<[Value]>::len), Some(1), "{consents:?}");
    // Another operator ends it there.
    let name = consents.pointer("/consents/0/name").and_then(Value::as_str).expect("a name");
    assert!(run(&far, &["client", "revoke", name]).status.success());
    let tested = run(&near, &["test", "far"]);
    assert_eq!(tested.status.code(), Some(1));
    assert!(text(&tested).contains("portcullis login far"), "{}", text(&tested));
}

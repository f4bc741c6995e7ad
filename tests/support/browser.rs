//! The browser of an operator at the front door of a gateway.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Home;

/// Everything here happens within this, or has hung.
const PATIENCE: Duration = Duration::from_mins(1);

/// Opens a page; returns the head and the body of the answer. `cookie` is what the browser keeps of the page.
///
/// # Panics
/// Where nobody answers.
pub fn open(page: &str, cookie: &str) -> (String, String) {
    let (authority, path) = page.strip_prefix("http://").expect("of this machine").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}

/// Returns where an answer leads.
pub fn location(head: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.to_owned())
    })
}

/// Consents: the page shows a code, which the operator of that home approves in another terminal. Returns where the browser
/// is led then.
///
/// # Panics
/// Where it is not.
pub fn consent(home: &Home, page: &str) -> String {
    let (head, body) = open(page, "none=none");
    let cookie =
        head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_else(|| panic!("{head}{body}"));
    let cookie = cookie.split(';').next().expect("a pair");
    let shown = body.split("portcullis approve ").nth(1).and_then(|rest| rest.split('<').next()).expect("a code");
    let mut operator = home.command(&["approve", shown, "--yes"]).stdout(Stdio::null()).spawn().expect("it starts");
    let begin = Instant::now();
    // The page of a browser loads itself again every few seconds.
    let found = loop {
        if let Some(found) = location(&open(page, cookie).0) {
            break found;
        }
        assert!(begin.elapsed() < PATIENCE, "the browser was led nowhere: {}", home.stderr());
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(operator.wait().expect("it ends").success(), "{}", home.stderr());
    found
}

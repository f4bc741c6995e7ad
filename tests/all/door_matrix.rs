//! What every address of `serve` refuses before it looks at anything else, and what no log and no server ever sees.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::Home;

use crate::PROGRAM;
use crate::logins::{Remote, known, log_in};
use crate::serving::{INITIALIZE, PATIENCE, Serving, config, run, wait_until};

/// Every address that is served, with a method that it takes.
const ROUTES: [(&str, &str); 11] = [
    ("POST", "/mcp"),
    ("POST", "/mcp/one"),
    ("GET", "/mcp"),
    ("GET", "/authorize?client_id=a"),
    ("POST", "/authorize"),
    ("POST", "/token"),
    ("POST", "/revoke"),
    ("POST", "/register"),
    ("GET", "/.well-known/oauth-authorization-server"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("GET", "/.well-known/oauth-protected-resource/mcp/one"),
];

/// Sends a head as it stands; returns the status of the answer.
fn status(serving: &Serving, line: &str, headers: &[String]) -> u16 {
    let mut stream = TcpStream::connect(&serving.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let head = format!("{line} HTTP/1.1\r\n{}Connection: close\r\nContent-Length: 0\r\n\r\n", headers.concat());
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    // One that cannot be read at all may be cut off.
    let _cut = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

#[test]
fn every_address_is_closed_to_pages_that_had_their_name_point_here() {
    let home = Home::new(PROGRAM, &config());
    let serving = Serving::start(&home, &["--register-clients"]);
    let port = serving.address.rsplit(':').next().expect("a port").to_owned();
    let host = |text: &str| format!("Host: {}\r\n", text.replace("PORT", &port));
    let hosts = [
        "attacker.example",
        "attacker.example:PORT",
        "localhost.attacker.example:PORT",
        "localhost:PORT.attacker.example",
        "user@localhost:PORT",
        "localhost@attacker.example:PORT",
        "127.0.0.2:PORT",
        "0.0.0.0:PORT",
        "[::ffff:127.0.0.1]:PORT",
        "localhost:1",
        "localhost",
    ];
    let origins = [
        "null",
        "http://attacker.example",
        "https://localhost:PORT",
        "http://localhost:PORT.attacker.example",
        "http://localhost:1",
        "http://localhost",
        "file://",
    ];
    let own = format!("Host: {}\r\n", serving.address);
    for (method, path) in ROUTES {
        let line = format!("{method} {path}");
        for wrong in hosts {
            assert_eq!(status(&serving, &line, &[host(wrong)]), 403, "{line}: {wrong}");
        }
        for wrong in origins {
            let origin = format!("Origin: {}\r\n", wrong.replace("PORT", &port));
            assert_eq!(status(&serving, &line, &[own.clone(), origin]), 403, "{line}: {wrong}");
        }
        let twice = status(&serving, &line, &[own.clone(), own.clone()]);
        assert!(matches!(twice, 400 | 403), "{line}: two hosts: {twice}");
        assert!(matches!(status(&serving, &line, &[]), 400 | 403), "{line}: no host");
        let elsewhere = format!("{method} http://attacker.example:{port}{path}");
        assert_eq!(status(&serving, &elsewhere, std::slice::from_ref(&own)), 403, "{elsewhere}");
        // Under its own names it is reached: what is refused then is refused for another reason.
        for right in ["localhost:PORT", "LOCALHOST:PORT", "localhost.:PORT", "127.0.0.1:PORT"] {
            assert_ne!(status(&serving, &line, &[host(right)]), 403, "{line}: {right}");
        }
    }
}

#[test]
fn a_server_sees_nothing_of_what_its_clients_showed_and_a_client_nothing_of_what_the_server_was_shown() {
    let remote = Remote::start();
    let home = Home::new(PROGRAM, &remote.config());
    assert!(log_in(&home, &["login", "remote"], known).status.success(), "{}", home.stderr());
    let minted = run(&home, &["token", "mint", "client"]).stdout;
    let token = String::from_utf8(minted).expect("text").trim().to_owned();
    let serving = Serving::start(&home, &[]);
    let bearer = format!("Bearer {token}");
    let (cookie, forwarded) = ("crumb-of-the-client", "192.0.2.77");
    let shown = [
        ("Authorization", bearer.as_str()),
        ("Cookie", cookie),
        ("X-Forwarded-For", forwarded),
        ("Forwarded", forwarded),
        ("Proxy-Authorization", cookie),
        ("X-Own", cookie),
    ];
    let mut seen = String::new();
    wait_until("the call is answered", || {
        let (_, session, _) = serving.post(&shown, INITIALIZE);
        let headers = [&shown[..], &[("Mcp-Session-Id", session.as_str())]].concat();
        let params = r#"{"name":"mcp__remote__plain","arguments":{},"_meta":{"progressToken":"its-own"}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#);
        let (_, head, body) = serving.request(
            "POST",
            "/mcp",
            &[&headers[..], &[("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")]]
                .concat(),
            &body,
        );
        assert!(!head.contains("acc-") && !body.contains("acc-") && !body.contains("ref-"), "{head}{body}");
        let seen = remote.counted().get("seen").map(Value::to_json).unwrap_or_default();
        assert!(!session.is_empty() && !seen.contains(&session), "the server sees no session of the client");
        body.contains(r#""text":"remote""#)
    });
    seen.push_str(&remote.counted().get("seen").map(Value::to_json).unwrap_or_default());
    assert!(seen.contains("tools/call") && seen.contains("acc-"), "it sees calls, with a token of its own: {seen}");
    for secret in [token.as_str(), cookie, forwarded, "its-own"] {
        assert!(!seen.contains(secret), "{secret}");
    }
    let _document = parse_str(&seen).expect("JSON");
}

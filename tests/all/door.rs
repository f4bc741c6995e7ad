//! The front door of `portcullis serve`: tokens with names, OAuth, encryption, figures.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::Home;

use crate::PROGRAM;
use crate::serving::{INITIALIZE, Serving, call, config, run, wait_until};

const CALLBACK: &str = "http://127.0.0.1/callback";
/// Made up, like its digest: base64url of SHA-256, as OAuth clients compute it.
const VERIFIER: &str = "a-made-up-verifier-of-43-characters-and-more";

fn text(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text").trim_end().to_owned()
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn encoded(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| {
        let escaped = text.bytes().map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        });
        escaped.collect::<String>()
    };
    pairs.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect::<Vec<_>>().join("&")
}

#[test]
fn a_token_with_a_name_opens_what_it_is_for_until_it_is_revoked() {
    let home = Home::new(PROGRAM, &config());
    let all = text(&run(&home, &["token", "mint", "laptop"]));
    let narrow = text(&run(&home, &["token", "mint", "narrow", "--server", "one"]));
    let serving = Serving::start(&home, &[]);
    call(&serving, &[("Authorization", &bearer(&all))]);
    let status = |path: &str, token: &str| serving.post_to(path, &[("Authorization", &bearer(token))], INITIALIZE).0;
    assert_eq!((status("/mcp/one", &narrow), status("/mcp", &narrow), status("/mcp/two", &narrow)), (200, 403, 403));
    assert_eq!(status("/mcp/two", &all), 404, "there is no such server");
    // One that is made while the gateway runs.
    let late = text(&run(&home, &["token", "mint", "late", "--days", "1"]));
    wait_until("the new token counts", || status("/mcp", &late) == 200);
    let session = serving.post(&[("Authorization", &bearer(&late))], INITIALIZE).1;
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    let of = |token: &str| serving.post(&[("Authorization", &bearer(token)), ("Mcp-Session-Id", &session)], ping).0;
    assert_eq!((of(&late), of(&all)), (200, 404), "a session is of one token");
    assert!(run(&home, &["token", "revoke", "late"]).status.success());
    wait_until("the token is revoked", || of(&late) == 401);
    let listed = text(&run(&home, &["token", "list", "--json"]));
    assert!(listed.contains("laptop") && listed.contains("narrow") && !listed.contains("late"), "{listed}");
    let told = home.stderr();
    for token in [&all, &narrow, &late] {
        assert!(!told.contains(token.as_str()) && !listed.contains(token.as_str()), "no log has a token");
    }
    assert!(told.contains("a token was used for the first time since the start"), "{told}");
    assert!(told.contains("token-first-use"), "the event has a name: {told}");
    assert_eq!(run(&home, &["token", "revoke", "unknown"]).status.code(), Some(1));
}

/// Goes the way of an OAuth client up to its code.
fn code(home: &Home, serving: &Serving, client: &str) -> String {
    let query = encoded(&[
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", "http://127.0.0.1:49152/callback"),
        ("state", "s"),
        ("resource", &format!("http://{}/mcp", serving.address)),
        ("code_challenge", "EA2AIQMjh3Ke_zu4JeKBRrhJBmLHrilc4Po2_uvtkus"),
        ("code_challenge_method", "S256"),
    ]);
    let path = format!("/authorize?{query}");
    let (status, head, page) = serving.request("GET", &path, &[], "");
    assert_eq!(status, 200, "{head}{page}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = cookie.split(';').next().expect("a pair");
    let shown = page.split("portcullis approve ").nth(1).and_then(|rest| rest.split('<').next()).expect("a code");
    let mut operator = home.command(&["approve", shown, "--yes"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let found = std::cell::RefCell::new(None);
    // The page of a browser loads itself again every few seconds.
    wait_until("the browser goes on", || {
        let (status, head, page) = serving.request("GET", &path, &[("Cookie", cookie)], "");
        assert!(status == 200 || status == 303, "{head}{page}");
        let location = head.lines().find_map(|line| line.strip_prefix("location: "));
        found.replace(location.map(str::to_owned));
        status == 303
    });
    assert!(operator.wait().expect("it ends").success(), "{}", home.stderr());
    let location = found.take().expect("a location");
    assert!(location.starts_with("http://127.0.0.1:49152/callback?code="), "{location}");
    location.split("code=").nth(1).and_then(|rest| rest.split('&').next()).expect("a code").to_owned()
}

#[test]
fn an_oauth_client_gets_in_once_the_operator_approved_its_code_in_another_terminal() {
    let home = Home::new(PROGRAM, &config());
    let added = text(&run(&home, &["client", "add", "A test", "--redirect", CALLBACK, "--json"]));
    let added = parse_str(&added).expect("JSON");
    let client = added.get("client_id").and_then(Value::as_str).expect("an id");
    let serving = Serving::start(&home, &[]);
    let challenge = serving.request("POST", "/mcp/one", &[], "").1;
    let metadata = format!("http://{}/.well-known/oauth-protected-resource/mcp/one", serving.address);
    assert!(challenge.contains(&format!("resource_metadata=\"{metadata}\"")), "{challenge}");
    let code = code(&home, &serving, client);
    let form = encoded(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("client_id", client),
        ("redirect_uri", "http://127.0.0.1:49152/callback"),
        ("code_verifier", VERIFIER),
    ]);
    let header = [("Content-Type", "application/x-www-form-urlencoded")];
    let (status, _, body) = serving.request("POST", "/token", &header, &form);
    assert_eq!(status, 200, "{body}");
    let tokens = parse_str(&body).expect("JSON");
    let member = |name: &str| tokens.get(name).and_then(Value::as_str).expect("a member").to_owned();
    let access = member("access_token");
    call(&serving, &[("Authorization", &bearer(&access))]);
    let elsewhere = serving.post_to("/mcp/one", &[("Authorization", &bearer(&access))], INITIALIZE).0;
    assert_eq!(elsewhere, 401, "a token of one route on another");
    let consents = parse_str(&text(&run(&home, &["client", "consents", "--json"]))).expect("JSON");
    let name = consents.pointer("/consents/0/name").and_then(Value::as_str).expect("one consent");
    assert!(run(&home, &["client", "revoke", name]).status.success(), "{}", home.stderr());
    assert_eq!(serving.post(&[("Authorization", &bearer(&access))], INITIALIZE).0, 401);
    let told = home.stderr();
    for secret in [&code, &access, &member("refresh_token")] {
        assert!(!told.contains(secret.as_str()), "no log has it");
    }
    assert!(!told.contains("49152"), "no log has an address of a request");
}

#[test]
fn a_code_that_no_browser_shows_is_not_approved() {
    let home = Home::new(PROGRAM, &config());
    assert_eq!(run(&home, &["approve", "2345-6789", "--yes"]).status.code(), Some(1), "no gateway runs");
    let _serving = Serving::start(&home, &["--consent", "off"]);
    assert_eq!(run(&home, &["approve", "2345-6789", "--yes"]).status.code(), Some(1));
    assert_eq!(run(&home, &["serve", "--consent", "passphrase"]).status.code(), Some(2), "none is set");
}

/// Memory of a process that is its own, in kilobytes.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn sixteen_stuck_calls_and_ten_thousand_strangers_leave_memory_flat_and_others_served() {
    let stuck = config().replace("  one:", "  stuck:").replace("mcp_servers:\n", "");
    let home = Home::new(PROGRAM, &format!("{}{stuck}", config()));
    let added = text(&run(&home, &["client", "add", "A test", "--redirect", CALLBACK, "--json"]));
    let added = parse_str(&added).expect("JSON");
    let client = added.get("client_id").and_then(Value::as_str).expect("an id");
    let token = bearer(&text(&run(&home, &["token", "mint", "stuck"])));
    let other = bearer(&text(&run(&home, &["token", "mint", "other"])));
    let serving = Serving::start(&home, &[]);
    let session = call(&serving, &[("Authorization", &token)]);
    let calls: Vec<TcpStream> = (0..16)
        .map(|id| {
            let params = r#"{"name":"mcp__stuck__slow","arguments":{"seconds":300}}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{params}}}"#, 100 + id);
            let mut stream = TcpStream::connect(&serving.address).expect("it listens");
            write!(
                stream,
                "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: {token}\r\nMcp-Session-Id: {session}\r\n\
                 Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                serving.address,
                body.len()
            )
            .expect("it reads");
            stream
        })
        .collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/strangers.py");
    let strangers = |count: &str| {
        let output = Command::new("python3").args([script, &serving.address, client, count]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        text(&output)
    };
    // Whatever a first thousand has the allocator keep.
    strangers("1000");
    let before = memory(serving.child.id());
    let counted = strangers("10000");
    let grown = memory(serving.child.id()).saturating_sub(before);
    println!("{counted}; grown by {grown} KB from {before} KB");
    assert!(grown < 8 * 1024, "grown by {grown} KB from {before} KB");
    // Others are served meanwhile.
    call(&serving, &[("Authorization", &other)]);
    drop(calls);
}

#[test]
fn a_front_door_with_a_certificate_speaks_encrypted_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new(PROGRAM, &config());
    let (key, certificate) = (home.path().join("key.pem"), home.path().join("certificate.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: openssl makes no certificate here");
        return;
    }
    let (key, certificate) = (key.to_str().expect("text"), certificate.to_str().expect("text"));
    let arguments = ["--tls-certificate", certificate, "--tls-key", key];
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    let refused = run(&home, &[&["serve", "--address", "127.0.0.1:0"], &arguments[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "others could have read the key");
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let token = text(&run(&home, &["token", "mint", "laptop"]));
    let serving = Serving::start(&home, &arguments);
    let script = "import ssl,sys,urllib.request as r\n\
        c=ssl.create_default_context(cafile=sys.argv[2])\n\
        q=r.Request(f'https://{sys.argv[1]}/mcp',sys.argv[4].encode(),{'Authorization':'Bearer '+sys.argv[3],\
        'Content-Type':'application/json','Accept':'application/json, text/event-stream'})\n\
        print(r.urlopen(q,context=c,timeout=60).status)";
    let mut python = Command::new("python3");
    let output =
        python.args(["-c", script, &serving.address, certificate, &token, INITIALIZE]).output().expect("it runs");
    assert_eq!(text(&output), "200", "{}\n{}", String::from_utf8_lossy(&output.stderr), home.stderr());
    let plain = std::panic::catch_unwind(|| serving.post(&[("Authorization", &bearer(&token))], INITIALIZE));
    assert!(plain.is_err(), "nothing is said to who does not encrypt");
}

#[test]
fn health_and_figures_have_a_port_of_their_own() {
    let home = Home::new(PROGRAM, &config());
    let serving = Serving::start(&home, &["--metrics", "127.0.0.1:0"]);
    assert_eq!(serving.post(&[], INITIALIZE).0, 401);
    let address = std::cell::RefCell::new(String::new());
    wait_until("it says where", || {
        let told = home.stderr();
        let line = told.lines().find(|line| line.contains("figures are at /metrics")).unwrap_or_default();
        let found = line.split("address=").nth(1).and_then(|rest| rest.split(' ').next());
        address.replace(found.unwrap_or_default().to_owned());
        !address.borrow().is_empty()
    });
    let get = |path: &str, host: &str| {
        use std::io::Read as _;
        let mut stream = TcpStream::connect(&*address.borrow()).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    let host = address.borrow().clone();
    assert!(get("/health", &host).starts_with("HTTP/1.1 200"));
    let figures = get("/metrics", &host);
    assert!(figures.contains("portcullis_door_refused_without_token_total 1"), "{figures}");
    assert!(get("/metrics", "evil.example").starts_with("HTTP/1.1 403"));
    assert!(get("/mcp", &host).starts_with("HTTP/1.1 404"));
    assert_eq!(serving.request("GET", "/metrics", &[], "").0, 404, "clients have no way there");
}

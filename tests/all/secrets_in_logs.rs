//! No secret in any log, at any level: every value that is made on the way in is looked for in all that was written.

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::{Home, browser, consent};

use crate::PROGRAM;
use crate::logins::{Remote, known, log_in};
use crate::serving::{INITIALIZE, Serving, config, run, wait_until};

const CALLBACK: &str = "http://127.0.0.1/callback";
/// Made up, like its digest: base64url of SHA-256, as OAuth clients compute it.
const VERIFIER: &str = "a-made-up-verifier-of-43-characters-and-more";
const CHALLENGE: &str = "EA2AIQMjh3Ke_zu4JeKBRrhJBmLHrilc4Po2_uvtkus";
const STATE: &str = "state-that-only-the-client-knows";

/// Returns all that a gateway of that home wrote: what it told, and its log files.
fn written(home: &Home) -> String {
    let mut all = home.stderr();
    for entry in std::fs::read_dir(home.path().join("logs")).into_iter().flatten().flatten() {
        all.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap_or_default()));
    }
    all
}

fn text(home: &Home, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", home.stderr());
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn member(document: &str, name: &str) -> String {
    let document = parse_str(document).expect("JSON");
    document.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("no {name}: {document:?}")).to_owned()
}

#[test]
fn the_front_door_writes_no_secret_at_any_level() {
    let home = Home::new(PROGRAM, &config());
    let own = text(&home, &["token", "show"]);
    let named = text(&home, &["token", "mint", "laptop"]);
    let added = text(&home, &["client", "add", "app", "--redirect", CALLBACK, "--confidential", "--json"]);
    let (client, secret) = (member(&added, "client_id"), member(&added, "client_secret"));
    let serving = Serving::start(&home, &["--log", "trace"]);
    let page = format!(
        "http://{}/authorize?response_type=code&client_id={client}&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&\
         state={STATE}&code_challenge={CHALLENGE}&code_challenge_method=S256",
        serving.address
    );
    // The cookie of another browser, which is worth as much.
    let (head, _) = browser::open(&page, "none=none");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie").to_owned();
    let cookie = cookie.split(';').next().and_then(|pair| pair.split('=').nth(1)).expect("a value").to_owned();
    let back = consent(&home, &page);
    let code = back.split("code=").nth(1).and_then(|rest| rest.split('&').next()).expect("a code").to_owned();
    let form = |pairs: &str| {
        let body = format!("{pairs}&client_id={client}&client_secret={secret}");
        let header = [("Content-Type", "application/x-www-form-urlencoded")];
        serving.request("POST", "/token", &header, &body)
    };
    let redirect = "redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback";
    let (status, _, first) =
        form(&format!("grant_type=authorization_code&code={code}&{redirect}&code_verifier={VERIFIER}"));
    assert_eq!(status, 200, "{first}");
    let (status, _, second) =
        form(&format!("grant_type=refresh_token&refresh_token={}", member(&first, "refresh_token")));
    assert_eq!(status, 200, "{second}");
    let mut sessions = Vec::new();
    for token in [&own, &named, &member(&second, "access_token")] {
        let (status, session, body) = serving.post(&[("Authorization", &format!("Bearer {token}"))], INITIALIZE);
        assert_eq!(status, 200, "{body}");
        sessions.push(session);
    }
    // Where tokens and codes have no business.
    let misplaced = "misplaced-but-a-token-all-the-same";
    serving.request("POST", &format!("/mcp?access_token={misplaced}"), &[], "");
    serving.request("GET", &format!("/authorize?{misplaced}={misplaced}"), &[], "");
    serving.post(&[("Authorization", &format!("Bearer {misplaced}")), ("Mcp-Session-Id", misplaced)], INITIALIZE);
    let all = written(&home);
    assert!(all.contains("a token was used for the first time"), "it tells what happened: {all}");
    let made =
        [first.as_str(), &second].map(|tokens| [member(tokens, "access_token"), member(tokens, "refresh_token")]);
    let fixed = [
        own,
        named,
        secret,
        cookie,
        code,
        VERIFIER.to_owned(),
        CHALLENGE.to_owned(),
        STATE.to_owned(),
        misplaced.to_owned(),
    ];
    for secret in fixed.iter().chain(made.iter().flatten()).chain(&sessions) {
        assert!(secret.len() > 16 && !all.contains(secret.as_str()), "a log has `{secret}`");
    }
}

#[test]
fn a_login_writes_no_secret_at_any_level() {
    let remote = Remote::start();
    let home = Home::new(PROGRAM, &remote.config());
    let mut back = String::new();
    let done = log_in(&home, &["login", "remote", "--log", "trace"], |page| {
        back = known(page);
        back.clone()
    });
    assert!(done.status.success(), "{}", home.stderr());
    let serving = Serving::start(&home, &["--without-token", "--log", "trace"]);
    remote.set(r#"{"revoke":true}"#);
    wait_until("the login is renewed", || {
        serving.post(&[], INITIALIZE);
        remote.counted().get("refreshed").and_then(Value::as_u64) > Some(0)
    });
    let all = written(&home);
    for secret in ["acc-", "ref-"] {
        assert!(!all.contains(secret), "a log has `{secret}`");
    }
    for name in ["code", "state"] {
        let value = back.split(&format!("{name}=")).nth(1).and_then(|rest| rest.split('&').next()).expect("a value");
        assert!(!all.contains(value), "a log has the {name}");
    }
}

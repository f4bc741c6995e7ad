//! What strangers try, and what becomes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scene::*;
use super::*;
use crate::{ClientDocuments, Fetcher};

#[tokio::test]
async fn whoever_knows_the_id_of_a_client_gets_no_code() {
    let scene = Scene::new();
    let mut stranger = Browser::new(&scene);
    for _ in 0..10 {
        let page = stranger.ask(&scene.query()).await;
        assert_eq!((page.status(), page.header("location")), (200, ""));
    }
    assert_eq!(scene.door.sizes().codes, 0);
}

#[tokio::test]
async fn an_approval_is_for_the_browser_and_the_request_that_were_shown() {
    let scene = Scene::new();
    let mut browser = Browser::new(&scene);
    let query = scene.query();
    let code = browser.ask(&query).await.code();
    let door = Arc::clone(&scene.door);
    let showing = async {
        while !scene.door.expects(code) {
            tokio::task::yield_now().await;
        }
        browser.ask(&query).await
    };
    let (view, _) = tokio::join!(door.expect(code), showing);
    view.unwrap();
    scene.door.consent(code, true).unwrap();
    // Another browser, another request of this browser, and one without its cookie get nothing of it.
    let mut other = Browser::new(&scene);
    assert_eq!(other.ask(&query).await.status(), 200);
    let challenge: String = challenge().chars().rev().collect();
    assert_eq!(browser.ask(&set(&query, "code_challenge", Some(&challenge))).await.status(), 200);
    let cookie = browser.cookie.take();
    assert_eq!(browser.ask(&query).await.status(), 200);
    browser.cookie = cookie;
    assert_eq!(browser.ask(&query).await.status(), 303);
}

#[tokio::test]
async fn an_address_that_is_not_registered_is_answered_by_a_page_and_never_led_to() {
    let scene = Scene::new();
    for redirect in [
        None,
        Some("https://evil.example/callback"),
        Some("https://app.example/callback/other"),
        Some("https://app.example/callback?a=b"),
        Some("https://app.example/callback#f"),
        Some("https://user@app.example/callback"),
        Some("https://app.example@evil.example/callback"),
        Some("https://app.example/callback?code=x"),
        Some("http://app.example/callback"),
        Some("http://127.0.0.1/callback"),
        Some("http://[::1]/other"),
        Some("javascript:alert(1)"),
        Some("cursor://anything"),
    ] {
        let page = Browser::new(&scene).ask(&set(&scene.query(), "redirect_uri", redirect)).await;
        assert_eq!((page.status(), page.header("location")), (400, ""), "{redirect:?}");
        assert!(!page.text().contains("evil"));
    }
    for client in [None, Some(""), Some("ptc-unknown"), Some("https://unknown.example")] {
        let page = Browser::new(&scene).ask(&set(&scene.query(), "client_id", client)).await;
        assert_eq!((page.status(), page.header("location")), (400, ""), "{client:?}");
    }
    let mut twice = scene.query();
    twice.push(("redirect_uri".to_owned(), CALLBACK.to_owned()));
    assert_eq!(Browser::new(&scene).ask(&twice).await.status(), 400);
}

#[tokio::test]
async fn an_address_of_the_machine_of_the_browser_works_in_version_six_and_with_any_port() {
    let scene = Scene::new();
    let query = set(&scene.query(), "redirect_uri", Some("http://[::1]:49152/callback"));
    let back = Browser::new(&scene).approved(&query).await;
    assert!(back.header("location").starts_with("http://[::1]:49152/callback?code="), "{back:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_at_the_address_of_its_client() {
    let scene = Scene::new();
    let good = scene.query();
    let mut twice = good.clone();
    twice.push(("scope".to_owned(), "mcp".to_owned()));
    for (query, code) in [
        (set(&good, "code_challenge_method", None), "invalid_request"),
        (set(&good, "code_challenge_method", Some("plain")), "invalid_request"),
        (set(&good, "code_challenge", Some("short")), "invalid_request"),
        (set(&good, "scope", Some("admin")), "invalid_scope"),
        (set(&good, "resource", Some("https://evil.example/mcp")), "invalid_target"),
        (set(&good, "response_type", Some("token")), "unsupported_response_type"),
        (twice, "invalid_request"),
    ] {
        let back = Browser::new(&scene).ask(&query).await;
        assert_eq!((back.status(), back.parameter("error").as_deref()), (303, Some(code)), "{query:?}");
        assert_eq!(back.parameter("iss").as_deref(), Some(ISSUER));
        assert_eq!(back.parameter("state").as_deref(), Some("a state"));
        assert!(back.parameter("code").is_none());
    }
    let back = Browser::new(&scene).ask(&set(&good, "state", Some("a\r\nSet-Cookie: b"))).await;
    assert_eq!((back.parameter("error").as_deref(), back.parameter("state")), (Some("invalid_request"), None));
}

#[tokio::test]
async fn a_page_runs_nothing_loads_nothing_and_is_framed_by_nobody() {
    let scene = Scene::by_passphrase();
    let page = Browser::new(&scene).ask(&scene.query()).await;
    let policy = page.header("content-security-policy");
    for part in
        ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self' https://app.example;"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert_eq!((page.header("x-frame-options"), page.header("x-content-type-options")), ("DENY", "nosniff"));
    assert_eq!((page.header("referrer-policy"), page.header("cache-control")), ("no-referrer", "no-store"));
    assert_eq!(page.header("cross-origin-opener-policy"), "same-origin");
    let text = page.text().to_lowercase();
    for tag in ["<script", "<img", "<link", "<iframe", "javascript:", "onload", "src="] {
        assert!(!text.contains(tag), "{tag}");
    }
    let cookie = page.header("set-cookie");
    for part in ["__Host-portcullis=", "; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(page.header("access-control-allow-origin").is_empty() && page.header("server").is_empty());
}

#[tokio::test]
async fn what_a_client_says_of_itself_stays_text() {
    let scene = Scene::with(|settings| settings.registration = true);
    let name = r#"<script>alert(1)</script>\u202e\" onload='x'"#;
    let body = format!(r#"{{"client_name":"{name}","redirect_uris":["{CALLBACK}?a='b'&c=%3Cb%3E"]}}"#);
    let request =
        Request::post("/register").header("content-type", "application/json").body(body.into_bytes()).unwrap();
    let id = scene.send(request, "192.0.2.1").await.member("client_id");
    let query = set(&query_of(&id), "redirect_uri", Some(&format!("{CALLBACK}?a='b'&c=%3Cb%3E")));
    let page = Browser::new(&scene).ask(&query).await;
    let text = page.text();
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{text}");
    for hostile in ["<script", "onload='x'", "\u{202e}", "a='b'"] {
        assert!(!text.contains(hostile), "{hostile}");
    }
}

#[tokio::test]
async fn parameters_that_a_form_repeats_stay_text_and_come_back_as_they_were() {
    let scene = Scene::by_passphrase();
    let hostile = r#""><script>alert(1)</script><input value=""#;
    let mut browser = Browser::new(&scene);
    let page = browser.ask(&set(&scene.query(), "state", Some(hostile))).await;
    assert!(!page.text().contains("<script"));
    let back = browser.submit(&page, &[("passphrase", &passphrase()), ("decision", "allow")]).await;
    assert_eq!(back.parameter("state").as_deref(), Some(hostile));
}

#[tokio::test]
async fn a_form_is_taken_from_the_browser_that_got_it_and_for_what_it_showed() {
    let scene = Scene::by_passphrase();
    let mut browser = Browser::new(&scene);
    let page = browser.ask(&scene.query()).await;
    let passphrase = passphrase();
    let filled = [("passphrase", passphrase.as_str()), ("decision", "allow")];
    let mut other = Browser::new(&scene);
    assert_eq!(other.submit(&page, &filled).await.status(), 403, "no cookie");
    other.ask(&scene.query()).await;
    assert_eq!(other.submit(&page, &filled).await.status(), 403, "another cookie");
    let changed =
        Answer(page.0.clone().map(|body| {
            String::from_utf8(body).unwrap().replace("value=\"a state\"", "value=\"another\"").into_bytes()
        }));
    assert_eq!(browser.submit(&changed, &filled).await.status(), 403, "another request");
    let without =
        Answer(page.0.clone().map(|body| {
            String::from_utf8(body).unwrap().replace("name=\"form_token\"", "name=\"other\"").into_bytes()
        }));
    assert_eq!(browser.submit(&without, &filled).await.status(), 403);
    scene.clock.advance(std::time::Duration::from_mins(15));
    assert_eq!(browser.submit(&page, &filled).await.status(), 403, "too old");
    let cross = Request::post("/authorize").header("sec-fetch-site", "cross-site").body(Vec::new()).unwrap();
    assert_eq!(scene.send(cross, "192.0.2.1").await.status(), 403);
}

#[tokio::test]
async fn strangers_do_not_have_documents_fetched() {
    let count = Arc::new(AtomicUsize::new(0));
    let fetcher = Fetcher::by({
        let count = Arc::clone(&count);
        move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok(Vec::new()) }
        }
    });
    let documents = ClientDocuments { allowed: true, trusted_hosts: Vec::new(), fetcher };
    let scene = Scene::with(|settings| settings.client_documents = documents);
    for number in 0..20 {
        let id = format!("https://host-{number}.example/client.json");
        let page = Browser::new(&scene).ask(&query_of(&id)).await;
        assert_eq!(page.status(), 200);
        assert!(page.text().contains(&format!("host-{number}.example")) && page.text().contains("portcullis approve"));
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let off = Scene::with(|settings| settings.client_documents.allowed = false);
    let page = Browser::new(&off).ask(&query_of("https://host.example/client.json")).await;
    assert_eq!(page.status(), 400);
}

#[tokio::test]
async fn a_code_that_is_used_twice_by_its_client_ends_the_tokens_and_by_others_does_not() {
    let scene = Scene::new();
    let code = scene.code(&scene.query()).await;
    let access = scene.redeem(&code).await.member("access_token");
    let other = "another-verifier-of-forty-three-characters-and-more";
    let pairs =
        [("grant_type", "authorization_code"), ("code", &code), ("client_id", &scene.client), ("code_verifier", other)];
    assert_eq!(scene.post("/token", &pairs).await.member("error"), "invalid_grant");
    assert!(scene.opens("/mcp", &access).is_ok(), "whoever found a code ends nothing");
    assert_eq!(scene.redeem(&code).await.member("error"), "invalid_grant");
    assert_eq!(scene.opens("/mcp", &access), Err(401));
}

#[tokio::test]
async fn no_token_or_code_is_in_the_state_on_disk() {
    let scene = Scene::new();
    let code = scene.code(&scene.query()).await;
    let tokens = scene.redeem(&code).await;
    let secrets = [code, tokens.member("access_token"), tokens.member("refresh_token")];
    for entry in std::fs::read_dir(scene.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for secret in &secrets {
            assert!(!text.contains(&secret[6..]), "{}", path.display());
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
        }
    }
}

//! A client that does everything right, and what it is given.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;

use super::scene::*;
use super::*;
use crate::{Approval, AuthorizationSettings, ClientDocuments, ClientFile, Fetcher};

#[tokio::test]
async fn a_client_gets_tokens_once_the_operator_approved_on_the_machine_of_the_gateway() {
    let scene = Scene::new();
    let mut browser = Browser::new(&scene);
    let back = browser.approved(&scene.query()).await;
    assert_eq!(back.status(), 303);
    assert!(back.header("location").starts_with("https://app.example/callback?code="), "{back:?}");
    assert_eq!(back.parameter("state").as_deref(), Some("a state"));
    assert_eq!(back.parameter("iss").as_deref(), Some(ISSUER));
    let answer = scene.redeem(&back.parameter("code").unwrap()).await;
    assert_eq!((answer.status(), answer.header("cache-control")), (200, "no-store"), "{answer:?}");
    assert_eq!((answer.member("token_type"), answer.member("scope")), ("Bearer".to_owned(), "mcp".to_owned()));
    let principal = format!("oauth:{}", scene.client);
    assert_eq!(scene.opens("/mcp", &answer.member("access_token")), Ok(principal));
    assert!(scene.door.principals().contains(format!("oauth:{}", scene.client).as_str()));
}

#[tokio::test]
async fn what_the_operator_sees_is_what_the_browser_asked_for() {
    let scene = Scene::new();
    let mut browser = Browser::new(&scene);
    let query = set(&scene.query(), "resource", Some("https://gateway.example/mcp/files"));
    let code = browser.ask(&query).await.code();
    let door = Arc::clone(&scene.door);
    let showing = async {
        while !scene.door.expects(code) {
            tokio::task::yield_now().await;
        }
        browser.ask(&query).await
    };
    let (view, _) = tokio::join!(door.expect(code), showing);
    let view = view.unwrap();
    assert_eq!((view.client.as_str(), view.redirect.as_str(), view.days), ("An app", CALLBACK, 90));
    assert!(view.resource.contains("the server `files`"), "{view:?}");
    scene.door.consent(code, false).unwrap();
    let refused = browser.ask(&query).await;
    assert_eq!(refused.parameter("error").as_deref(), Some("access_denied"));
    assert_eq!(
        (refused.parameter("iss").as_deref(), refused.parameter("state").as_deref()),
        (Some(ISSUER), Some("a state"))
    );
    assert!(
        browser.ask(&query).await.text().contains("portcullis approve"),
        "a no is told once, and nothing follows of it"
    );
}

#[tokio::test]
async fn the_passphrase_on_the_page_does_as_well_and_the_answer_is_303() {
    let scene = Scene::by_passphrase();
    let mut browser = Browser::new(&scene);
    let page = browser.ask(&scene.query()).await;
    let passphrase = passphrase();
    let wrong = browser.submit(&page, &[("passphrase", "wrong"), ("decision", "allow")]).await;
    assert_eq!((wrong.status(), wrong.header("location")), (403, ""));
    let missing = browser.submit(&page, &[("decision", "allow")]).await;
    assert_eq!((missing.status(), missing.header("location")), (403, ""));
    let back = browser.submit(&page, &[("passphrase", &passphrase), ("decision", "allow")]).await;
    assert_eq!(back.status(), 303, "{back:?}");
    assert_eq!(scene.redeem(&back.parameter("code").unwrap()).await.status(), 200);
    let denied = browser.submit(&page, &[("decision", "deny")]).await;
    assert_eq!(denied.parameter("error").as_deref(), Some("access_denied"));
}

#[tokio::test]
async fn without_the_passphrase_mode_no_form_gives_consent() {
    let scene = Scene::by_passphrase();
    let mut browser = Browser::new(&scene);
    let page = browser.ask(&scene.query()).await;
    let cookie = browser.cookie.take();
    let mut settings = scene.door.settings.clone();
    settings.authorization =
        settings.authorization.map(|settings| AuthorizationSettings { approval: Approval::OutOfBand, ..settings });
    // The same state, the same key, the same form.
    let scene = Scene { door: Arc::new(FrontDoor::open(settings).unwrap()), ..scene };
    let mut browser = Browser::new(&scene);
    browser.cookie = cookie;
    let refused = browser.submit(&page, &[("passphrase", &passphrase()), ("decision", "allow")]).await;
    assert_eq!((refused.status(), refused.header("location")), (403, ""));
}

#[tokio::test]
async fn a_refresh_keeps_what_the_token_is_for() {
    let scene = Scene::new();
    let code = scene.code(&set(&scene.query(), "resource", Some("https://gateway.example/mcp/files"))).await;
    let first = scene.redeem(&code).await;
    assert!(scene.opens("/mcp/files", &first.member("access_token")).is_ok());
    for route in ["/mcp", "/mcp/mail"] {
        assert_eq!(scene.opens(route, &first.member("access_token")), Err(401), "a token of one route on another");
    }
    let second = scene.refresh(&first.member("refresh_token")).await;
    assert_eq!(second.status(), 200);
    assert!(scene.opens("/mcp/files", &second.member("access_token")).is_ok());
    assert_eq!(scene.opens("/mcp", &second.member("access_token")), Err(401));
    assert_eq!(scene.opens("/mcp/files", &first.member("access_token")), Err(401), "the one before has ended");
}

#[tokio::test]
async fn a_refresh_token_that_was_used_before_ends_all_that_came_of_its_consent() {
    let scene = Scene::new();
    let tokens = scene.tokens().await;
    let first = tokens.get("refresh_token").and_then(portcullis_model::json::Value::as_str).unwrap().to_owned();
    let second = scene.refresh(&first).await;
    let reused = scene.refresh(&first).await;
    assert_eq!((reused.status(), reused.member("error").as_str()), (400, "invalid_grant"));
    assert_eq!(scene.opens("/mcp", &second.member("access_token")), Err(401));
    assert_eq!(scene.refresh(&second.member("refresh_token")).await.status(), 400);
}

#[tokio::test]
async fn a_code_of_sixty_one_seconds_is_refused() {
    let scene = Scene::new();
    let code = scene.code(&scene.query()).await;
    scene.clock.advance(Duration::from_secs(61));
    let late = scene.redeem(&code).await;
    assert_eq!((late.status(), late.member("error").as_str()), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_client_with_a_secret_must_show_it_and_one_without_is_not_asked() {
    let scene = Scene::new();
    let clients = ClientFile::in_folder(scene.folder.path());
    let (client, secret) = clients.add("A server", &[CALLBACK.to_owned()], true, 0).unwrap();
    let secret = secret.unwrap();
    scene.door.refresh();
    let redeem = async |shown: &[(&str, &str)], basic: Option<String>| {
        let code = scene.code(&query_of(&client.id)).await;
        let mut pairs =
            vec![("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER)];
        pairs.extend_from_slice(shown);
        let mut request = Request::post("/token").header("content-type", "application/x-www-form-urlencoded");
        if let Some(basic) = basic {
            request = request.header("authorization", basic);
        }
        scene.send(request.body(form(&pairs)).unwrap(), "192.0.2.1").await
    };
    let basic = |id: &str, secret: &str| {
        Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"))))
    };
    let id = ("client_id", client.id.as_str());
    assert_eq!(redeem(&[id, ("client_secret", secret.expose())], None).await.status(), 200);
    assert_eq!(redeem(&[], basic(&client.id, secret.expose())).await.status(), 200);
    for (shown, header) in [
        (vec![id], None),
        (vec![id, ("client_secret", "wrong")], None),
        (vec![("client_id", "unknown")], None),
        (vec![], None),
        (vec![], basic(&client.id, "wrong")),
        (vec![], basic("unknown", secret.expose())),
        (vec![], Some("Bearer abc".to_owned())),
    ] {
        let by_header = header.is_some();
        let refused = redeem(&shown, header).await;
        assert_eq!((refused.status(), refused.member("error").as_str()), (401, "invalid_client"), "{shown:?}");
        assert_eq!(refused.header("www-authenticate").starts_with("Basic"), by_header);
    }
    let twice = redeem(&[("client_secret", secret.expose())], basic(&client.id, secret.expose())).await;
    assert_eq!(twice.member("error"), "invalid_request");
    // One without a secret may send one all the same: some clients have a field for it.
    let code = scene.code(&scene.query()).await;
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("client_id", scene.client.as_str()),
        ("client_secret", "anything"),
        ("code_verifier", VERIFIER),
    ];
    assert_eq!(scene.post("/token", &pairs).await.status(), 200);
}

#[tokio::test]
async fn errors_of_the_token_endpoint_are_those_of_the_standard_and_in_our_words() {
    let scene = Scene::new();
    let id = ("client_id", scene.client.as_str());
    for (pairs, status, code) in [
        (vec![id], 400, "invalid_request"),
        (vec![id, ("grant_type", "password")], 400, "unsupported_grant_type"),
        (vec![id, ("grant_type", "client_credentials")], 400, "unsupported_grant_type"),
        (vec![id, ("grant_type", "authorization_code")], 400, "invalid_request"),
        (vec![id, ("grant_type", "authorization_code"), ("code", "x")], 400, "invalid_request"),
        (vec![id, ("grant_type", "authorization_code"), ("code", "x"), ("code_verifier", "y")], 400, "invalid_grant"),
        (vec![id, ("grant_type", "refresh_token")], 400, "invalid_request"),
        (vec![id, ("grant_type", "refresh_token"), ("refresh_token", "x")], 400, "invalid_grant"),
        (vec![id, id, ("grant_type", "refresh_token"), ("refresh_token", "x")], 400, "invalid_request"),
        (vec![id, ("grant_type", "refresh_token"), ("refresh_token", "x"), ("scope", "admin")], 400, "invalid_scope"),
        (vec![id, ("grant_type", "refresh_token"), ("resource", "https://evil.example/")], 400, "invalid_target"),
        (vec![("client_id", "ptc-unknown"), ("grant_type", "refresh_token")], 401, "invalid_client"),
    ] {
        scene.clock.advance(Duration::from_secs(5));
        let answer = scene.post("/token", &pairs).await;
        assert_eq!((answer.status(), answer.member("error").as_str()), (status, code), "{pairs:?}");
        let text = answer.member("error_description");
        assert!(!text.is_empty() && !text.contains("admin") && !text.contains("evil"), "{text}");
    }
    let json = Request::post("/token").header("content-type", "application/json").body(b"{}".to_vec()).unwrap();
    assert_eq!(scene.send(json, "192.0.2.1").await.member("error"), "invalid_request");
    let get = Request::get("/token").body(Vec::new()).unwrap();
    assert_eq!(scene.send(get, "192.0.2.1").await.status(), 405);
}

#[tokio::test]
async fn a_client_gives_its_tokens_back_and_learns_nothing_of_others() {
    let scene = Scene::new();
    let tokens = scene.tokens().await;
    let text = |name: &str| tokens.get(name).and_then(portcullis_model::json::Value::as_str).unwrap().to_owned();
    let id = ("client_id", scene.client.as_str());
    assert_eq!(scene.post("/revoke", &[id, ("token", "unknown")]).await.status(), 200);
    assert!(scene.opens("/mcp", &text("access_token")).is_ok());
    assert_eq!(scene.post("/revoke", &[("client_id", "ptc-x"), ("token", &text("access_token"))]).await.status(), 401);
    assert_eq!(scene.post("/revoke", &[id, ("token", &text("refresh_token"))]).await.status(), 200);
    assert_eq!(scene.opens("/mcp", &text("access_token")), Err(401));
    assert_eq!(scene.refresh(&text("refresh_token")).await.status(), 400);
}

#[tokio::test]
async fn the_operator_sees_what_clients_hold_and_ends_it_by_name_or_by_removing_the_client() {
    let scene = Scene::new();
    let (first, second) = (scene.tokens().await, scene.tokens().await);
    let access =
        |tokens: &portcullis_model::json::Value| tokens.get("access_token").unwrap().as_str().unwrap().to_owned();
    let listed = scene.door.grants();
    assert_eq!((listed.len(), listed[0].client.as_str()), (2, "An app"));
    assert_eq!(scene.door.revoke(&[listed[0].id.clone()]).await, 1);
    assert_eq!(scene.door.grants().len(), 1);
    assert_eq!([&first, &second].into_iter().filter(|tokens| scene.opens("/mcp", &access(tokens)).is_ok()).count(), 1);
    ClientFile::in_folder(scene.folder.path()).remove(&scene.client).unwrap();
    scene.door.refresh();
    assert!(scene.door.grants().is_empty());
    for tokens in [first, second] {
        assert_eq!(scene.opens("/mcp", &access(&tokens)), Err(401));
    }
}

const DOCUMENT: &str = "https://app.example/client.json";

fn with_document(trusted: &[&str]) -> Scene {
    let documents = ClientDocuments {
        allowed: true,
        trusted_hosts: trusted.iter().map(|&host| host.to_owned()).collect(),
        fetcher: Fetcher::by(|url| async move {
            let document =
                format!(r#"{{"client_id":"{url}","client_name":"<b>Documented</b>","redirect_uris":["{CALLBACK}"]}}"#);
            Ok(document.into_bytes())
        }),
    };
    Scene::with(|settings| settings.client_documents = documents)
}

#[tokio::test]
async fn a_client_that_is_described_by_a_document_gets_tokens_without_a_registration() {
    for trusted in [&["app.example"][..], &[]] {
        let scene = with_document(trusted);
        let code = scene.code(&query_of(DOCUMENT)).await;
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", DOCUMENT),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let answer = scene.post("/token", &pairs).await;
        assert_eq!(answer.status(), 200, "{answer:?}");
        assert_eq!(scene.opens("/mcp", &answer.member("access_token")), Ok(format!("oauth:{DOCUMENT}")));
    }
}

#[tokio::test]
async fn a_client_that_registers_itself_gets_tokens_where_that_is_switched_on() {
    let scene = Scene::with(|settings| settings.registration = true);
    let body = format!(r#"{{"client_name":"Itself","redirect_uris":["{CALLBACK}"],"scope":"mcp"}}"#);
    let request =
        Request::post("/register").header("content-type", "application/json").body(body.into_bytes()).unwrap();
    let registered = scene.send(request, "192.0.2.1").await;
    assert_eq!((registered.status(), registered.member("token_endpoint_auth_method").as_str()), (201, "none"));
    let id = registered.member("client_id");
    let mut browser = Browser::new(&scene);
    assert!(browser.ask(&query_of(&id)).await.text().contains("nobody checked it"));
    let code = browser.approved(&query_of(&id)).await.parameter("code").unwrap();
    let pairs =
        [("grant_type", "authorization_code"), ("code", &code), ("client_id", &id), ("code_verifier", VERIFIER)];
    assert_eq!(scene.post("/token", &pairs).await.status(), 200);
}

#[tokio::test]
async fn the_documents_say_what_is_so_and_one_issuer_everywhere() {
    use portcullis_model::json::Value;

    let scene = Scene::new();
    let server = scene.get("/.well-known/oauth-authorization-server").await;
    assert_eq!(server.header("content-type"), "application/json");
    assert_eq!(server.member("issuer"), ISSUER);
    let has = |name: &str, value: &str| {
        let document = server.json();
        let list = document.get(name).and_then(Value::as_array).unwrap_or_default();
        list.iter().any(|item| item.as_str() == Some(value))
    };
    assert!(has("token_endpoint_auth_methods_supported", "none"));
    assert!(has("code_challenge_methods_supported", "S256"));
    let document = server.json();
    assert_eq!(document.get("authorization_response_iss_parameter_supported").and_then(Value::as_bool), Some(true));
    assert_eq!(document.get("client_id_metadata_document_supported").and_then(Value::as_bool), Some(true));
    assert!(document.get("registration_endpoint").is_none(), "it is not there");
    assert!(!scene.door.serves("/register"));
    for (name, path) in
        [("authorization_endpoint", "/authorize"), ("token_endpoint", "/token"), ("revocation_endpoint", "/revoke")]
    {
        assert_eq!(server.member(name), format!("{ISSUER}{path}"));
        assert!(scene.door.serves(path));
    }
    for (path, resource) in [("", "/mcp"), ("/mcp", "/mcp"), ("/mcp/files", "/mcp/files")] {
        let answer = scene.get(&format!("/.well-known/oauth-protected-resource{path}")).await;
        assert_eq!((answer.status(), answer.member("resource")), (200, format!("{ISSUER}{resource}")));
        let document = answer.json();
        let servers = document.get("authorization_servers").and_then(Value::as_array).unwrap();
        assert_eq!(servers.iter().filter_map(Value::as_str).collect::<Vec<_>>(), [ISSUER]);
        assert!(!answer.text().contains("offline_access"));
    }
    for path in ["/.well-known/oauth-protected-resource/other", "/.well-known/openid-configuration", "/introspect", "/"]
    {
        assert!(!scene.door.serves(path), "{path}");
    }
    assert!(Scene::with(|settings| settings.registration = true).door.serves("/register"));
}

#[tokio::test]
async fn tokens_survive_a_restart_unless_that_is_switched_off() {
    for persist in [true, false] {
        let scene = Scene::with(|settings| settings.persist = persist);
        let tokens = scene.tokens().await;
        let access = tokens.get("access_token").unwrap().as_str().unwrap();
        let again = FrontDoor::open(scene.door.settings.clone()).unwrap();
        let before = Scene { door: Arc::new(again), ..scene };
        assert_eq!(before.opens("/mcp", access).is_ok(), persist);
    }
}

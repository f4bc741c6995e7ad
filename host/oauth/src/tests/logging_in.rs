use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_config::OAuthSettings;
use portcullis_model::Secret;
use portcullis_model::json::Value;
use url::Url;

use super::stub::{Stub, document};
use super::{file, grant, pairs, settings, web};
use crate::{Browser, DiscoveryError, Login, LoginError, TokenError};

const REDIRECT: &str = "http://127.0.0.1:49152/callback";
const TOKENS: &str =
    r#"{"access_token":"access-1","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-1"}"#;

async fn begin(stub: &Stub, settings: &OAuthSettings) -> Result<Login, LoginError> {
    let folder = tempfile::tempdir().unwrap();
    let url = Url::parse(&format!("{}/mcp", stub.address)).unwrap();
    Login::begin(&url, settings, web(&url).await, &file(&folder)).await
}

async fn browser(stub: &Stub, settings: &OAuthSettings) -> Browser {
    begin(stub, settings).await.unwrap().browser(REDIRECT).await.unwrap()
}

fn query(page: &str) -> Vec<(String, String)> {
    pairs(page.split_once('?').unwrap().1)
}

fn member(page: &str, name: &str) -> String {
    query(page).into_iter().find(|(key, _)| key == name).unwrap_or_default().1
}

#[tokio::test]
async fn a_login_asks_for_what_the_server_said_and_proves_who_began_it() {
    let stub = Stub::start().await;
    stub.give(&[(200, TOKENS)]);
    let browser = browser(&stub, &settings()).await;
    let page = browser.page();
    assert!(page.starts_with(&format!("{}/authorize?", stub.address)), "{page}");
    let resource = format!("{}/mcp", stub.address);
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "registered"),
        ("redirect_uri", REDIRECT),
        ("code_challenge_method", "S256"),
        ("scope", "read write"),
        ("resource", &resource),
    ] {
        assert_eq!(member(page, name), value, "{name}");
    }
    let registered = document(&stub.asked("/register")[0]);
    assert_eq!(registered.get("client_name").and_then(Value::as_str), Some("Portcullis"), "it says who it is");
    assert_eq!(registered.pointer("/redirect_uris/0").and_then(Value::as_str), Some(REDIRECT));
    let state = member(page, "state");
    let consent = browser.finish(&format!("{REDIRECT}?code=c&state={state}")).await.unwrap();
    assert!(consent.renews() && consent.lasts().unwrap() > 3_000);
    let asked = &stub.asked("/token")[0];
    let verifier = asked.member("code_verifier").unwrap();
    let challenge = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()));
    assert_eq!(challenge, member(page, "code_challenge"));
    assert_eq!(asked.member("resource"), Some(resource));
    assert_eq!(asked.member("redirect_uri").as_deref(), Some(REDIRECT));
    assert_eq!(asked.member("client_secret"), None, "it stands in the header, as the registration said");
    assert!(asked.head.to_ascii_lowercase().contains("authorization: basic "), "{}", asked.head);
    assert!(!format!("{browser:?}{consent:?}").contains("access-1"), "no secret is shown");
}

#[tokio::test]
async fn what_comes_back_must_belong_to_the_login_and_to_its_authorization_server() {
    let stub = Stub::start().await;
    stub.give(&[(200, TOKENS)]);
    stub.script().metadata = vec![("authorization_response_iss_parameter_supported", true.into())];
    let browser = browser(&stub, &settings()).await;
    let state = member(browser.page(), "state");
    let own = &stub.address;
    let (strange, wrong) = (format!("code=c&state=x&iss={own}"), format!("code=c&state={state}&iss={own}/"));
    let (missing, twice) = (format!("code=c&state={state}"), format!("code=c&code=d&state={state}&iss={own}"));
    let denied = format!("error=access_denied&state={state}&iss={own}");
    for (came_back, expected) in [
        (strange.as_str(), "State"),
        ("", "NoCode"),
        ("cancel", "NoCode"),
        (&wrong, "Issuer"),
        (&missing, "Issuer"),
        (&twice, "NoCode"),
        (&denied, "Denied"),
    ] {
        let failed = browser.finish(came_back).await.unwrap_err();
        assert!(format!("{failed:?}").starts_with(expected), "{came_back}: {failed:?}");
    }
    assert!(stub.asked("/token").is_empty(), "no code went anywhere");
    assert!(browser.finish(&format!("?code=c&state={state}&iss={own}")).await.is_ok());
}

#[tokio::test]
async fn metadata_of_another_resource_or_issuer_end_the_login() {
    let stub = Stub::start().await;
    stub.script().resource = Some("https://other.example/mcp".to_owned());
    assert!(matches!(begin(&stub, &settings()).await, Err(LoginError::Discovery(DiscoveryError::Resource(_)))));
    stub.script().resource = None;
    stub.script().metadata = vec![("issuer", "https://other.example".into())];
    assert!(matches!(begin(&stub, &settings()).await, Err(LoginError::Discovery(DiscoveryError::Issuer { .. }))));
    stub.script().metadata = vec![("code_challenge_methods_supported", vec![Value::from("plain")].into())];
    assert!(matches!(begin(&stub, &settings()).await, Err(LoginError::Discovery(DiscoveryError::NoProof(_)))));
    stub.script().metadata = Vec::new();
    stub.script().issuer = Some("https://169.254.169.254".to_owned());
    let failed = begin(&stub, &settings()).await.unwrap_err();
    assert!(matches!(failed, LoginError::Discovery(DiscoveryError::Web(_))), "{failed:?}");
}

#[tokio::test]
async fn a_client_is_the_one_of_the_config_or_a_described_or_a_new_one() {
    let stub = Stub::start().await;
    stub.give(&[(200, TOKENS)]);
    stub.script().metadata = vec![("client_id_metadata_document_supported", true.into())];
    let known = OAuthSettings {
        client_id: Some("known".to_owned()),
        client_secret: Some(Secret::new("made-up")),
        client_metadata_url: Some("https://c.example/client.json".to_owned()),
        ..settings()
    };
    assert_eq!(member(browser(&stub, &known).await.page(), "client_id"), "known");
    let described = OAuthSettings { client_id: None, client_secret: None, ..known };
    assert_eq!(member(browser(&stub, &described).await.page(), "client_id"), "https://c.example/client.json");
    assert!(stub.asked("/register").is_empty());
    let undescribed = OAuthSettings { uses_metadata_url: false, ..described };
    assert_eq!(member(browser(&stub, &undescribed).await.page(), "client_id"), "registered");
    stub.script().metadata = vec![("registration_endpoint", Value::Null)];
    let failed = begin(&stub, &settings()).await.unwrap().browser(REDIRECT).await.unwrap_err();
    assert!(matches!(failed, LoginError::NoClient(_)), "{failed:?}");
}

#[tokio::test]
async fn a_login_after_a_refusal_for_scopes_asks_for_them_and_for_all_that_was_there() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    let url = Url::parse(&format!("{}/mcp", stub.address)).unwrap();
    let mut held = grant(url.as_str(), &format!("{}/token", stub.address));
    held.issuer.clone_from(&stub.address);
    held.tokens.scopes = Some(vec!["files".to_owned()]);
    file(&folder).write(&held).unwrap();
    stub.script().metadata = vec![("scopes_supported", vec![Value::from("offline_access")].into())];
    let login = Login::begin(&url, &settings(), web(&url).await, &file(&folder)).await.unwrap();
    assert_eq!(login.scopes(), ["read", "write", "files", "admin", "offline_access"]);
    // Those of another authorization server are none here.
    held.issuer = "https://other.example".to_owned();
    file(&folder).write(&held).unwrap();
    let login = Login::begin(&url, &settings(), web(&url).await, &file(&folder)).await.unwrap();
    assert_eq!(login.scopes(), ["read", "write", "offline_access"]);
}

#[tokio::test]
async fn a_code_that_is_typed_elsewhere_is_waited_for() {
    let stub = Stub::start().await;
    let (pending, slower) = (r#"{"error":"authorization_pending"}"#, r#"{"error":"access_denied"}"#);
    stub.give(&[(400, pending), (200, TOKENS)]);
    let device = begin(&stub, &settings()).await.unwrap().device().await.unwrap();
    assert_eq!((device.user_code(), device.page()), ("WDJB-MJHT", format!("{}/type", stub.address).as_str()));
    assert!(device.finish().await.unwrap().renews());
    let asked = stub.asked("/token");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].member("device_code").as_deref(), Some("d"));
    stub.give(&[(400, slower)]);
    let device = begin(&stub, &settings()).await.unwrap().device().await.unwrap();
    let failed = device.finish().await.unwrap_err();
    assert!(
        matches!(&failed, LoginError::Token(TokenError::Refused { code, .. }) if code == "access_denied"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn what_is_no_token_is_no_login() {
    let stub = Stub::start().await;
    for (status, body) in [
        (200, r#"{"access_token":"a b","token_type":"Bearer"}"#),
        (200, r#"{"access_token":"","token_type":"Bearer"}"#),
        (200, r#"{"access_token":"a","token_type":"mac"}"#),
        (200, r#"{"token_type":"Bearer"}"#),
        (200, "[]"),
        (200, r#"{"error":"invalid_grant"}"#),
        (302, ""),
        (400, "no"),
    ] {
        stub.give(&[(status, body)]);
        let browser = browser(&stub, &settings()).await;
        let state = member(browser.page(), "state");
        let outcome = browser.finish(&format!("code=c&state={state}")).await;
        assert!(matches!(outcome, Err(LoginError::Token(_))), "{status} {body}: {outcome:?}");
    }
}

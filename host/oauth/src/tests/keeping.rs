use std::time::SystemTime;

use portcullis_model::Secret;
use url::Url;

use super::stub::Stub;
use super::{file, grant, server, settings, web};
use crate::grant::Grant;
use crate::keeper::{Keeper, KeeperError};
use crate::token::seconds;
use crate::{GrantFile, LoggedOut, log_out};

async fn keeper(stub: &Stub, file: &GrantFile) -> Keeper {
    let url = format!("{}/mcp", stub.address);
    Keeper::new(&server(), file.clone(), &url, &settings(), web(&Url::parse(&url).unwrap()).await)
}

/// A grant of the stub whose token is good for so many seconds more, of an hour.
fn held(stub: &Stub, left: u64) -> Grant {
    let mut grant = grant(&format!("{}/mcp", stub.address), &format!("{}/token", stub.address));
    let now = seconds(SystemTime::now());
    (grant.tokens.made, grant.tokens.expires) = (now + left - 3_600, Some(now + left));
    grant
}

fn text(token: &Secret) -> &str {
    token.expose()
}

const RENEWED: &str = r#"{"access_token":"access-2","token_type":"Bearer","expires_in":"3600"}"#;

#[tokio::test]
async fn a_token_that_is_about_to_end_is_renewed_once_for_all_who_ask() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    stub.give(&[(200, RENEWED)]);
    file(&folder).write(&held(&stub, 30)).unwrap();
    // Two keepers are as two processes.
    let (one, other) = (keeper(&stub, &file(&folder)).await, keeper(&stub, &file(&folder)).await);
    let (first, second, third) = tokio::join!(one.token(), one.token(), other.token());
    for token in [first, second, third] {
        assert_eq!(text(&token.unwrap().unwrap()), "access-2");
    }
    let asked = stub.asked("/token");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let member = |name| asked[0].member(name);
    assert_eq!(member("grant_type").as_deref(), Some("refresh_token"));
    assert_eq!(member("refresh_token").as_deref(), Some("refresh-1"));
    assert_eq!(member("resource"), Some(format!("{}/mcp", stub.address)));
    assert_eq!(member("client_secret").as_deref(), Some("made-up"));
    let kept = file(&folder).read().unwrap().unwrap();
    assert_eq!(text(kept.tokens.refresh.as_ref().unwrap()), "refresh-1", "what the reply leaves out stays");
    assert_eq!(kept.scopes(), ["read"]);
    assert!(kept.tokens.expires.unwrap() > seconds(SystemTime::now()) + 3_000);
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_renewed_unless_somebody_did_already() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    stub.give(&[(200, r#"{"access_token":"access-2","token_type":"bearer","refresh_token":"refresh-2"}"#)]);
    file(&folder).write(&held(&stub, 3_000)).unwrap();
    let keeper = keeper(&stub, &file(&folder)).await;
    let token = keeper.token().await.unwrap().unwrap();
    assert_eq!(text(&token), "access-1");
    assert_eq!(text(&keeper.another(Some(&token)).await.unwrap()), "access-2");
    assert_eq!(text(&keeper.another(Some(&token)).await.unwrap()), "access-2", "who was refused with the former one");
    assert_eq!(stub.asked("/token").len(), 1);
    let kept = file(&folder).read().unwrap().unwrap();
    assert_eq!(text(kept.tokens.refresh.as_ref().unwrap()), "refresh-2");
    // Another process logged in anew.
    let mut new = held(&stub, 3_000);
    new.tokens.access = Secret::new("access-9");
    file(&folder).write(&new).unwrap();
    assert_eq!(text(&keeper.token().await.unwrap().unwrap()), "access-9");
}

#[tokio::test]
async fn a_login_that_is_refused_is_not_asked_for_again_and_stays_as_it_was() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    stub.give(&[(400, r#"{"error":"invalid_grant","error_description":"gone"}"#)]);
    let before = held(&stub, 0);
    file(&folder).write(&before).unwrap();
    let keeper = keeper(&stub, &file(&folder)).await;
    for _ in 0..3 {
        let refused = keeper.token().await.unwrap_err();
        assert!(matches!(&refused, KeeperError::Refused(code) if code == "invalid_grant"), "{refused}");
        assert!(refused.needs_login());
    }
    assert_eq!(stub.asked("/token").len(), 1);
    assert_eq!(file(&folder).read().unwrap().unwrap(), before);
    // A new login counts at once.
    file(&folder).write(&held(&stub, 3_000)).unwrap();
    assert!(keeper.token().await.is_ok());
}

#[tokio::test]
async fn an_authorization_server_in_trouble_costs_no_login() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    let replies = [
        (503, ""),
        (500, r#"{"error":"invalid_grant"}"#),
        (200, "<html>"),
        (400, r#"{"error":"temporarily_unavailable"}"#),
    ];
    for (status, body) in replies {
        stub.give(&[(status, body)]);
        let before = held(&stub, 30);
        file(&folder).write(&before).unwrap();
        let keeper = keeper(&stub, &file(&folder)).await;
        assert_eq!(
            text(&keeper.token().await.unwrap().unwrap()),
            "access-1",
            "it is good for a while: {status} {body}"
        );
        let failed = keeper.another(Some(&Secret::new("access-1"))).await.unwrap_err();
        assert!(matches!(failed, KeeperError::NotNow(_)) && !failed.needs_login(), "{status} {body}: {failed}");
        assert_eq!(file(&folder).read().unwrap().unwrap(), before);
    }
    stub.give(&[(200, RENEWED)]);
    assert!(keeper(&stub, &file(&folder)).await.another(Some(&Secret::new("access-1"))).await.is_ok());
}

#[tokio::test]
async fn tokens_go_to_the_server_that_they_are_for_and_to_no_other() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    let mut other = held(&stub, 3_000);
    other.url = "https://other.example/mcp".to_owned();
    file(&folder).write(&other).unwrap();
    let kept = keeper(&stub, &file(&folder)).await;
    assert!(kept.token().await.unwrap().is_none());
    assert!(matches!(kept.another(None).await, Err(KeeperError::NotLoggedIn)));
    file(&folder).write(&held(&stub, 3_000)).unwrap();
    assert!(kept.token().await.unwrap().is_some());
    // Of another client than the config names now.
    let url = format!("{}/mcp", stub.address);
    let settings = portcullis_config::OAuthSettings { client_id: Some("another".to_owned()), ..settings() };
    let web = web(&Url::parse(&url).unwrap()).await;
    let kept = Keeper::new(&server(), file(&folder), &url, &settings, web);
    assert!(kept.token().await.unwrap().is_none());
}

#[tokio::test]
async fn scopes_that_were_missing_are_kept_for_the_next_login() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    file(&folder).write(&held(&stub, 3_000)).unwrap();
    let keeper = keeper(&stub, &file(&folder)).await;
    keeper.note_missing(&["write".to_owned(), "admin".to_owned()]).await.unwrap();
    assert_eq!(file(&folder).read().unwrap().unwrap().missing, ["admin", "write"]);
    assert_eq!(text(&keeper.token().await.unwrap().unwrap()), "access-1");
}

#[tokio::test]
async fn a_logout_ends_the_login_where_it_was_given_too() {
    let (stub, folder) = (Stub::start().await, tempfile::tempdir().unwrap());
    let mut grant = held(&stub, 3_000);
    grant.revocation_endpoint = Some(Url::parse(&format!("{}/revoke", stub.address)).unwrap());
    file(&folder).write(&grant).unwrap();
    let web = web(&Url::parse(&stub.address).unwrap()).await;
    assert_eq!(log_out(&file(&folder), &web).await.unwrap(), LoggedOut::Ended);
    assert_eq!(stub.asked("/revoke")[0].member("token").as_deref(), Some("refresh-1"));
    assert_eq!(log_out(&file(&folder), &web).await.unwrap(), LoggedOut::Nobody);
    grant.revocation_endpoint = None;
    file(&folder).write(&grant).unwrap();
    assert_eq!(log_out(&file(&folder), &web).await.unwrap(), LoggedOut::Forgotten);
}

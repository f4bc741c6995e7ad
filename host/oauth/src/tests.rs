//! The client against an authorization server that does what a test wants.

mod keeping;
mod logging_in;
mod stub;

use std::sync::Arc;

use portcullis_config::{ClientAuthentication, OAuthSettings};
use portcullis_model::{Secret, ServerName};
use url::Url;

use crate::grant::{Client, Grant, Tokens};
use crate::{GrantFile, Web};

/// A grant for that server, which is renewed at that place.
pub(crate) fn grant(url: &str, token_endpoint: &str) -> Grant {
    Grant {
        url: url.to_owned(),
        resource: url.to_owned(),
        issuer: "https://a.example".to_owned(),
        token_endpoint: Url::parse(token_endpoint).unwrap(),
        revocation_endpoint: None,
        client: Client {
            id: "client".to_owned(),
            secret: Some(Secret::new("made-up")),
            authentication: ClientAuthentication::Post,
            registered_for: Some("http://127.0.0.1:1/callback".to_owned()),
        },
        tokens: Tokens {
            access: Secret::new("access-1"),
            refresh: Some(Secret::new("refresh-1")),
            made: 1_000,
            expires: Some(4_600),
            scopes: Some(vec!["read".to_owned()]),
        },
        asked: vec!["read".to_owned(), "write".to_owned()],
        missing: vec!["admin".to_owned()],
    }
}

fn server() -> ServerName {
    ServerName::parse("s").unwrap()
}

fn file(folder: &tempfile::TempDir) -> GrantFile {
    GrantFile::of(folder.path(), &server())
}

async fn web(url: &Url) -> Web {
    Web::of(url, None, Arc::new(|builder, _| builder)).await
}

fn pairs(form: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

fn settings() -> OAuthSettings {
    OAuthSettings::default()
}

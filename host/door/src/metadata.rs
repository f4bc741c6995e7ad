//! The documents by which clients find out what they need (RFC 8414, RFC 9728). Made of the settings in force.

use portcullis_model::json::{Object, Value};
use portcullis_model::{ServerName, object};

use crate::refusal::SCOPE;
use crate::route::{PublicUrl, RESOURCE_METADATA, Route, of_path};
use crate::settings::AuthorizationSettings;

/// Where the authorization server describes itself (RFC 8414 §3).
pub(crate) const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";

/// Where a browser asks for consent.
pub(crate) const AUTHORIZE: &str = "/authorize";
/// Where codes and refresh tokens are exchanged.
pub(crate) const TOKEN: &str = "/token";
/// Where tokens are given back.
pub(crate) const REVOKE: &str = "/revoke";
/// Where clients register themselves.
pub(crate) const REGISTER: &str = "/register";

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|&text| text.into()).collect()
}

/// Describes the resource that a route is.
pub(crate) fn of_resource(url: &PublicUrl, route: Option<&ServerName>, has_server: bool) -> Object {
    let mut document = object! { "resource" => url.resource(route) };
    if has_server {
        document.insert("authorization_servers", texts(&[url.as_str()]));
    }
    document.insert("scopes_supported", texts(&[SCOPE]));
    document.insert("bearer_methods_supported", texts(&["header"]));
    let name = route.map_or_else(|| "Portcullis".to_owned(), |server| format!("Portcullis: {server}"));
    document.insert("resource_name", name);
    document
}

/// Returns the route whose description is asked for; nothing where the path is no such. The form without a path is that
/// of all servers. Names are not looked up: strangers learn nothing of which there are.
pub(crate) fn described(path: &str) -> Option<Route> {
    match path.strip_prefix(RESOURCE_METADATA)? {
        "" => Some(None),
        rest => of_path(rest),
    }
}

/// Describes the authorization server.
pub(crate) fn of_server(url: &PublicUrl, settings: &AuthorizationSettings) -> Object {
    let at = |path: &str| format!("{}{path}", url.as_str());
    let mut document = object! {
        "issuer" => url.as_str(),
        "authorization_endpoint" => at(AUTHORIZE),
        "token_endpoint" => at(TOKEN),
        "revocation_endpoint" => at(REVOKE),
    };
    if settings.registration {
        document.insert("registration_endpoint", at(REGISTER));
    }
    let methods = ["none", "client_secret_post", "client_secret_basic"];
    document.insert("scopes_supported", texts(&[SCOPE]));
    document.insert("response_types_supported", texts(&["code"]));
    document.insert("response_modes_supported", texts(&["query"]));
    document.insert("grant_types_supported", texts(&["authorization_code", "refresh_token"]));
    document.insert("token_endpoint_auth_methods_supported", texts(&methods));
    document.insert("revocation_endpoint_auth_methods_supported", texts(&methods));
    document.insert("code_challenge_methods_supported", texts(&["S256"]));
    document.insert("authorization_response_iss_parameter_supported", true);
    document.insert("client_id_metadata_document_supported", settings.client_documents.allowed);
    document
}

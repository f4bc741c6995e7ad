//! The metadata of an authorization server.

use portcullis_config::ClientAuthentication;
use portcullis_model::json::Value;
use url::Url;

use super::{DiscoveryError, Form, well_known};
use crate::web::Web;

/// An authorization server, as its metadata describe it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Its name, as it stands in the metadata.
    pub(crate) issuer: String,
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    pub(crate) device: Option<Url>,
    pub(crate) revocation: Option<Url>,
    /// How clients may show their secrets; nothing where it does not say.
    pub(crate) authentications: Option<Vec<ClientAuthentication>>,
    /// True where an id may be the address of a document that describes the client.
    pub(crate) takes_documents: bool,
    /// True where it names itself whenever it sends the browser back (RFC 9207).
    pub(crate) names_itself: bool,
    /// True where it gives what lasts to those who ask for `offline_access`.
    pub(crate) has_offline_access: bool,
}

/// Asks an authorization server for its metadata.
pub(super) async fn of_issuer(web: &Web, issuer: &str) -> Result<Server, DiscoveryError> {
    let url = Url::parse(issuer).map_err(|_| DiscoveryError::Address)?;
    if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
        return Err(DiscoveryError::Address);
    }
    let Some(document) = fetch(web, &url).await? else {
        return Err(DiscoveryError::NoMetadata(shown(issuer)));
    };
    read(&document, issuer)
}

/// Asks at the origin of a resource, as servers of 2025-03-26 want it: metadata at its root, or none, and then endpoints at
/// places that everybody knows.
pub(super) async fn at_origin(web: &Web, resource: &Url) -> Result<Server, DiscoveryError> {
    let mut root = resource.clone();
    root.set_path("/");
    root.set_query(None);
    root.set_fragment(None);
    let issuer = root.as_str().trim_end_matches('/').to_owned();
    if let Some(document) = fetch(web, &root).await? {
        return read(&document, &issuer);
    }
    let place = |path: &str| root.join(path).map_err(|_| DiscoveryError::Address);
    Ok(Server {
        authorization: Some(place("/authorize")?),
        token: place("/token")?,
        registration: Some(place("/register")?),
        device: None,
        revocation: None,
        authentications: None,
        takes_documents: false,
        names_itself: false,
        has_offline_access: false,
        issuer,
    })
}

/// Looks at the places where metadata may be, those of OAuth first.
async fn fetch(web: &Web, url: &Url) -> Result<Option<Value>, DiscoveryError> {
    let mut places = well_known(url, "oauth-authorization-server", &[Form::Inserted]);
    places.extend(well_known(url, "openid-configuration", &[Form::Inserted, Form::Appended]));
    for place in places {
        let answer = web.get(&place).await?;
        if let Some(document) = answer.document().filter(|_| answer.is_success()) {
            return Ok(Some(document));
        }
    }
    Ok(None)
}

fn read(document: &Value, expected: &str) -> Result<Server, DiscoveryError> {
    let text = |key: &str| document.get(key).and_then(Value::as_str);
    let issuer = text("issuer").unwrap_or_default();
    if without_root(issuer) != without_root(expected) {
        return Err(DiscoveryError::Issuer { expected: shown(expected), found: shown(issuer) });
    }
    let url = |key: &str| text(key).and_then(|text| Url::parse(text).ok());
    let list = |key: &str| document.get(key).and_then(Value::as_array);
    let has = |key: &str, word: &str| list(key).is_some_and(|list| list.iter().any(|item| item.as_str() == Some(word)));
    let is = |key: &str| document.get(key).and_then(Value::as_bool) == Some(true);
    let member = |member| DiscoveryError::Member { issuer: shown(issuer), member };
    if !has("code_challenge_methods_supported", "S256") {
        return Err(DiscoveryError::NoProof(shown(issuer)));
    }
    if list("response_types_supported").is_some() && !has("response_types_supported", "code") {
        return Err(member("response_types_supported"));
    }
    let known = [ClientAuthentication::None, ClientAuthentication::Basic, ClientAuthentication::Post];
    let method = |item: &Value| known.into_iter().find(|method| item.as_str() == Some(method.as_str()));
    let authentications =
        list("token_endpoint_auth_methods_supported").map(|list| list.iter().filter_map(method).collect());
    Ok(Server {
        issuer: issuer.to_owned(),
        authorization: url("authorization_endpoint"),
        token: url("token_endpoint").ok_or_else(|| member("token_endpoint"))?,
        registration: url("registration_endpoint"),
        device: url("device_authorization_endpoint"),
        revocation: url("revocation_endpoint"),
        authentications,
        takes_documents: is("client_id_metadata_document_supported"),
        names_itself: is("authorization_response_iss_parameter_supported"),
        has_offline_access: has("scopes_supported", "offline_access"),
    })
}

/// An empty path and a root are the same address (RFC 3986 §6.2.3), and are written either way.
fn without_root(address: &str) -> &str {
    if Url::parse(address).is_ok_and(|url| url.path() == "/") { address.trim_end_matches('/') } else { address }
}

/// Cuts a foreign text for an error.
fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    const GOOD: &str = r#"{"issuer":"https://a.example/x","token_endpoint":"https://a.example/token",
        "authorization_endpoint":"https://a.example/authorize","code_challenge_methods_supported":["plain","S256"],
        "token_endpoint_auth_methods_supported":["private_key_jwt","client_secret_post"]}"#;

    #[test]
    fn metadata_are_those_of_the_server_that_was_asked_and_no_other() {
        let document = parse_str(GOOD).unwrap();
        let server = read(&document, "https://a.example/x").unwrap();
        assert_eq!(server.authentications.as_deref(), Some([ClientAuthentication::Post].as_slice()));
        for other in ["https://a.example", "https://a.example/x/", "https://A.example/x", "https://b.example/x", ""] {
            assert!(matches!(read(&document, other), Err(DiscoveryError::Issuer { .. })), "{other}");
        }
        let root = |issuer: &str| parse_str(&GOOD.replace("https://a.example/x", issuer)).unwrap();
        assert!(read(&root("https://a.example/"), "https://a.example").is_ok());
        assert!(read(&root("https://a.example"), "https://a.example/").is_ok());
    }

    #[test]
    fn a_server_that_does_not_say_that_it_checks_who_redeems_a_code_is_refused() {
        for wrong in [
            GOOD.replace("[\"plain\",\"S256\"]", "[\"plain\"]"),
            GOOD.replace("\"code_challenge_methods_supported\"", "\"other\""),
        ] {
            let document = parse_str(&wrong).unwrap();
            assert!(matches!(read(&document, "https://a.example/x"), Err(DiscoveryError::NoProof(_))), "{wrong}");
        }
        let document = parse_str(&GOOD.replace("https://a.example/token", "token")).unwrap();
        assert!(matches!(read(&document, "https://a.example/x"), Err(DiscoveryError::Member { .. })));
    }
}

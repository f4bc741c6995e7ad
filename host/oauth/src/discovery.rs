//! Finding the authorization server of a resource (RFC 9728, RFC 8414, `OpenID` Connect Discovery 1.0).

mod server;

use url::Url;

use crate::challenge::{Challenge, scopes};
use crate::web::{Web, WebError};

pub(crate) use server::Server;

/// No authorization server was found, or none that can be believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// A place could not be asked.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The metadata of the resource are those of another one.
    #[error("the server says that its metadata are those of `{0}`, which is another resource")]
    Resource(String),
    /// The resource names an authorization server that is no address.
    #[error("the server names an authorization server that is no address")]
    Address,
    /// No metadata of the authorization server were found.
    #[error("the authorization server `{0}` has no metadata")]
    NoMetadata(String),
    /// The metadata are those of another authorization server (RFC 8414 §3.3).
    #[error("the metadata of the authorization server `{expected}` are those of `{found}`")]
    Issuer {
        /// Whose were asked for.
        expected: String,
        /// Whose came.
        found: String,
    },
    /// A member of the metadata is missing or means nothing.
    #[error("the metadata of the authorization server `{issuer}` have no usable `{member}`")]
    Member {
        /// The authorization server.
        issuer: String,
        /// The member.
        member: &'static str,
    },
    /// The authorization server does not say that it checks who redeems a code.
    #[error("the authorization server `{0}` does not support PKCE with S256, without which a code could be stolen")]
    NoProof(String),
}

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What tokens are asked for (RFC 8707).
    pub(crate) resource: String,
    /// The scopes that the resource says are needed.
    pub(crate) scopes: Vec<String>,
    /// The authorization server.
    pub(crate) server: Server,
}

/// Finds the authorization server of a resource, from the challenge of a refusal where there was one.
pub(crate) async fn discover(web: &Web, resource: &Url, challenge: &Challenge) -> Result<Found, DiscoveryError> {
    let named = challenge.resource_metadata.as_deref().and_then(|reference| resource.join(reference).ok());
    let mut places: Vec<Url> = named.into_iter().collect();
    places.extend(well_known(resource, "oauth-protected-resource", &[Form::Inserted, Form::Root]));
    let mut metadata = None;
    for place in &places {
        let answer = web.get(place).await?;
        let document = if answer.is_success() { answer.document() } else { None };
        metadata = document.filter(|document| document.get("authorization_servers").is_some());
        if metadata.is_some() {
            break;
        }
    }
    let Some(metadata) = metadata else {
        // Before 2025-06-18 the authorization server stood at the server's own origin.
        let server = server::at_origin(web, resource).await?;
        return Ok(Found { resource: canonical(resource), scopes: challenge.scopes.clone(), server });
    };
    let claimed = metadata.get("resource").and_then(|value| value.as_str());
    let claimed = claimed.filter(|claimed| is_resource_of(claimed, resource));
    let Some(claimed) = claimed else {
        let shown = metadata.get("resource").and_then(|value| value.as_str()).unwrap_or("nothing");
        return Err(DiscoveryError::Resource(shown.chars().take(200).collect()));
    };
    let issuer = metadata
        .get("authorization_servers")
        .and_then(|servers| servers.as_array()?.first()?.as_str())
        .ok_or(DiscoveryError::Address)?;
    let server = server::of_issuer(web, issuer).await?;
    let supported = metadata.get("scopes_supported").and_then(|scopes| scopes.as_array()).unwrap_or_default();
    let supported: Vec<&str> = supported.iter().filter_map(|scope| scope.as_str()).collect();
    let wanted = if challenge.scopes.is_empty() { scopes(&supported.join(" ")) } else { challenge.scopes.clone() };
    Ok(Found { resource: claimed.to_owned(), scopes: wanted, server })
}

/// Returns what a resource is called where it does not say so itself.
fn canonical(resource: &Url) -> String {
    let mut url = resource.clone();
    url.set_fragment(None);
    let text = url.as_str();
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text.to_owned() }
}

/// Returns true where a resource that is claimed is the server itself or all of what it is a part of: the same origin, and
/// the same path or one above.
fn is_resource_of(claimed: &str, resource: &Url) -> bool {
    let Ok(claimed) = Url::parse(claimed) else { return false };
    let (above, below) = (claimed.path().trim_end_matches('/'), resource.path().trim_end_matches('/'));
    let rest = below.strip_prefix(above);
    claimed.origin() == resource.origin()
        && claimed.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where a document stands that belongs to an address with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Between host and path (RFC 8414 §3.1, RFC 9728 §3.1).
    Inserted,
    /// Behind the path (`OpenID` Connect Discovery §4).
    Appended,
    /// At the root.
    Root,
}

/// Returns the well-known places of a document, each once.
fn well_known(base: &Url, name: &str, forms: &[Form]) -> Vec<Url> {
    let path = base.path().trim_end_matches('/');
    let mut places: Vec<Url> = Vec::new();
    for form in forms {
        let mut place = base.clone();
        place.set_query(None);
        place.set_fragment(None);
        place.set_path(&match form {
            Form::Inserted => format!("/.well-known/{name}{path}"),
            Form::Appended => format!("{path}/.well-known/{name}"),
            Form::Root => format!("/.well-known/{name}"),
        });
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_server_is_its_own_resource_or_part_of_one() {
        let server = url("https://s.example/mcp/one");
        for claimed in
            ["https://s.example/mcp/one", "https://s.example/mcp/one/", "https://s.example/mcp", "https://s.example"]
        {
            assert!(is_resource_of(claimed, &server), "{claimed}");
        }
        for claimed in [
            "https://s.example/mcp/on",
            "https://s.example/mcp/one/two",
            "https://other.example/mcp/one",
            "http://s.example/mcp/one",
            "https://s.example:8443/mcp/one",
            "https://s.example/mcp/one#a",
            "mcp",
        ] {
            assert!(!is_resource_of(claimed, &server), "{claimed}");
        }
    }

    #[test]
    fn documents_stand_where_their_specifications_put_them() {
        let texts = |base: &str, forms: &[Form]| {
            well_known(&url(base), "x", forms).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let all = [Form::Inserted, Form::Appended, Form::Root];
        assert_eq!(texts("https://s.example/", &all), ["https://s.example/.well-known/x"]);
        assert_eq!(
            texts("https://s.example/a/b?q=1", &all),
            [
                "https://s.example/.well-known/x/a/b",
                "https://s.example/a/b/.well-known/x",
                "https://s.example/.well-known/x"
            ]
        );
    }

    #[test]
    fn a_resource_is_named_without_the_slash_of_an_empty_path() {
        assert_eq!(canonical(&url("https://s.example")), "https://s.example");
        assert_eq!(canonical(&url("https://s.example/mcp?a=b#c")), "https://s.example/mcp?a=b");
    }
}

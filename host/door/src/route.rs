//! The routes of a gateway, each a resource of its own (RFC 8707, RFC 9728).

use std::fmt::Write as _;
use std::str::FromStr;

use portcullis_model::ServerName;
use url::{Host, Url};

/// Where all servers are.
const ALL: &str = "/mcp";

/// Where the description of a protected resource is: before the path of the resource (RFC 9728 §3.1).
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

/// Names of servers are 256 bytes at most; so is what stands for one in a path, three bytes each.
const LONGEST_PATH: usize = 1_024;

/// What a client reaches: all servers (nothing), or one of that name.
pub(crate) type Route = Option<ServerName>;

/// Returns the path of a route.
pub(crate) fn path(route: Option<&ServerName>) -> String {
    let Some(server) = route else { return ALL.to_owned() };
    let mut path = format!("{ALL}/");
    for byte in server.as_str().bytes() {
        // RFC 3986 §2.3: what needs no encoding.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            path.push(char::from(byte));
        } else {
            let _infallible = write!(path, "%{byte:02X}");
        }
    }
    path
}

/// Returns the route that a path leads to: all servers (nothing), or one of that name. `/mcp/` leads nowhere, and nothing is
/// redirected.
pub fn of_path(path: &str) -> Option<Option<ServerName>> {
    let rest = path.strip_prefix(ALL)?;
    if rest.is_empty() {
        return Some(None);
    }
    let segment = rest.strip_prefix('/').filter(|segment| segment.len() <= LONGEST_PATH)?;
    ServerName::parse(&decoded(segment)?).ok().map(Some)
}

/// Undoes percent-encoding (RFC 3986 §2.1).
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'/' => return None,
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The address under which clients reach a gateway: what every absolute URL begins with, and the issuer of its tokens.
/// Scheme, host and port, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    text: String,
    host: String,
    port: u16,
    is_secure: bool,
}

/// Why a text is no public URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublicUrlError {
    /// It is no URL.
    #[error("it is no URL such as https://gateway.example")]
    Malformed,
    /// It is not encrypted, and not on this machine.
    #[error("it must begin with https:// (http:// is for 127.0.0.1, [::1] and localhost alone)")]
    NotSecure,
    /// It has more than scheme, host and port: clients look for fixed paths at the root.
    #[error("it must have no user, path, query or fragment")]
    MoreThanOrigin,
}

impl PublicUrl {
    /// Reads a public URL. One slash at its end is left out.
    pub fn parse(text: &str) -> Result<Self, PublicUrlError> {
        let url = Url::parse(text).map_err(|_| PublicUrlError::Malformed)?;
        let host = url.host().ok_or(PublicUrlError::Malformed)?;
        // The host as it was understood, not as a text: `http://localhost.evil.example` begins like one of this machine.
        let is_here = match host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        let is_secure = url.scheme() == "https";
        let is_plain_here = url.scheme() == "http" && is_here;
        if !is_secure && !is_plain_here {
            return Err(PublicUrlError::NotSecure);
        }
        let has_user = !url.username().is_empty() || url.password().is_some() || text.contains('@');
        if has_user || url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(PublicUrlError::MoreThanOrigin);
        }
        let port = url.port_or_known_default().ok_or(PublicUrlError::Malformed)?;
        let host = host.to_string();
        Ok(Self { text: url.as_str().trim_end_matches('/').to_owned(), host, port, is_secure })
    }

    /// Returns the URL, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, which may be the one that goes without saying.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns true for https.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Returns the identifier of the resource that a route is.
    pub(crate) fn resource(&self, route: Option<&ServerName>) -> String {
        format!("{}{}", self.text, path(route))
    }

    /// Returns where the resource that a route is describes itself.
    pub(crate) fn metadata(&self, route: Option<&ServerName>) -> String {
        format!("{}{RESOURCE_METADATA}{}", self.text, path(route))
    }

    /// Returns the route that an identifier means: scheme and host in any case, one slash at its end left out.
    pub(crate) fn route_of(&self, resource: &str) -> Option<Route> {
        let url = Url::parse(resource).ok()?;
        let is_ours = self.text == url.origin().ascii_serialization();
        let has_more = url.query().is_some() || url.fragment().is_some() || resource.contains(['@', '\\']);
        if !is_ours || has_more {
            return None;
        }
        let path = url.path();
        of_path(path.strip_suffix('/').unwrap_or(path))
    }
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_all_servers_or_to_one() {
        let one = |name: &str| Some(Some(server(name)));
        assert_eq!(of_path("/mcp"), Some(None));
        assert_eq!(of_path("/mcp/files"), one("files"));
        assert_eq!(of_path("/mcp/my%20files"), one("my files"));
        assert_eq!(of_path("/mcp/a%2fb"), one("a/b"));
        for path in ["/", "", "/mcp/", "/mcpx", "/mcp/a/b", "/mcp//a", "/MCP", "/mcp/%2", "/mcp/%zz", "/mcp/%ff"] {
            assert_eq!(of_path(path), None, "{path}");
        }
    }

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    #[test]
    fn every_route_has_one_path_and_one_identifier() {
        let url = PublicUrl::parse("https://Gateway.Example:443/").unwrap();
        assert_eq!((url.as_str(), url.host(), url.port()), ("https://gateway.example", "gateway.example", 443));
        assert_eq!(url.resource(None), "https://gateway.example/mcp");
        let files = server("my files/ü");
        assert_eq!(url.resource(Some(&files)), "https://gateway.example/mcp/my%20files%2F%C3%BC");
        assert_eq!(url.route_of(&url.resource(Some(&files))), Some(Some(files)));
        assert_eq!(
            url.metadata(Some(&server("files"))),
            "https://gateway.example/.well-known/oauth-protected-resource/mcp/files"
        );
        for same in ["HTTPS://gateway.example/mcp", "https://GATEWAY.example:443/mcp/"] {
            assert_eq!(url.route_of(same), Some(None), "{same}");
        }
        for other in [
            "https://gateway.example",
            "https://gateway.example/",
            "https://gateway.example/mcp?a=b",
            "https://gateway.example/mcp#a",
            "https://gateway.example:8443/mcp",
            "http://gateway.example/mcp",
            "https://gateway.example.evil.example/mcp",
            "https://evil@gateway.example/mcp",
            "https://gateway.example/mcp/a/b",
            "https://gateway.example/MCP",
            "mcp",
            "",
        ] {
            assert_eq!(url.route_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_public_url_is_https_or_of_this_machine_and_nothing_but_an_origin() {
        for text in ["https://gateway.example", "http://127.0.0.1:8765", "http://[::1]:8765", "http://localhost:1"] {
            assert_eq!(PublicUrl::parse(text).unwrap().as_str(), text);
        }
        for (text, error) in [
            ("http://localhost.evil.example", PublicUrlError::NotSecure),
            ("http://gateway.example", PublicUrlError::NotSecure),
            ("ftp://gateway.example", PublicUrlError::NotSecure),
            ("https://gateway.example/path", PublicUrlError::MoreThanOrigin),
            ("https://gateway.example?a", PublicUrlError::MoreThanOrigin),
            ("https://gateway.example#a", PublicUrlError::MoreThanOrigin),
            ("https://me@gateway.example", PublicUrlError::MoreThanOrigin),
            ("gateway.example", PublicUrlError::Malformed),
            ("", PublicUrlError::Malformed),
        ] {
            assert_eq!(PublicUrl::parse(text), Err(error), "{text}");
        }
    }
}

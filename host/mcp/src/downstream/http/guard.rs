//! Who may talk to this address at all: a page in a browser that had its name point to this machine may not.
//!
//! Such a page (DNS rebinding) sends its own name as `Host`, and its own origin. So both have to name this machine and
//! the port that is bound, or the public address, on every route, before anything else is looked at.

use std::net::{IpAddr, SocketAddr};

use http::header::{CONTENT_LENGTH, HOST, ORIGIN, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, Uri, Version};
use portcullis_door::PublicUrl;

use super::HttpOptions;

/// Port that `http` means where none is named (RFC 9110 §4.2.1).
const HTTP_PORT: u16 = 80;
/// Port that `https` means where none is named (RFC 9110 §4.2.2).
const HTTPS_PORT: u16 = 443;

/// What is wrong with a request's `Host` or `Origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// The host is not this machine, or is told twice, or not at all.
    Host,
    /// The origin is not this machine, or is told twice.
    Origin,
    /// Where the message ends is told in two ways.
    Framing,
}

impl Foreign {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Host => "the Host header does not name this address",
            Self::Origin => "the Origin header does not name this address",
            Self::Framing => "the message says in two ways where it ends",
        }
    }
}

/// The names under which this address may be talked to.
#[derive(Clone, Debug)]
pub(super) struct Names {
    bound: SocketAddr,
    is_secure: bool,
    public: Option<PublicUrl>,
}

impl Names {
    /// The bound address under its own name, and the public one where there is one.
    pub(super) fn new(bound: SocketAddr, options: &HttpOptions) -> Self {
        let public = options.front_door.as_ref().map(|front_door| front_door.public_url().clone());
        Self { bound, is_secure: options.tls.is_some(), public }
    }

    /// The bound address alone.
    pub(super) fn of_address(bound: SocketAddr) -> Self {
        Self { bound, is_secure: false, public: None }
    }

    /// Checks host and origin of a request.
    pub(super) fn check(&self, version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        // A message of both lengths is one that two readers can take for two (RFC 9112 §6.1).
        if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
            return Err(Foreign::Framing);
        }
        let mut hosts = headers.get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            (Some(host), None) => {
                let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
                authority.filter(|authority| self.has(authority)).ok_or(Foreign::Host)?;
            }
            // Older than the header, and than anything in a browser that could be led here.
            (None, None) if version < Version::HTTP_11 && uri.authority().is_some() => {}
            _ => return Err(Foreign::Host),
        }
        // The absolute form replaces the header (RFC 9112 §3.2.2), so it is held to the same.
        if uri.authority().is_some_and(|authority| !self.has(authority)) {
            return Err(Foreign::Host);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            // Programs send none.
            (None, _) => Ok(()),
            (Some(origin), None) => {
                let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
                let origin = origin.and_then(|(scheme, rest)| Some((scheme, rest.parse::<Authority>().ok()?)));
                origin.filter(|(scheme, authority)| self.is_own(scheme, authority)).map(|_| ()).ok_or(Foreign::Origin)
            }
            (Some(_), Some(_)) => Err(Foreign::Origin),
        }
    }

    /// Returns true where an authority names this address, on whichever side of a proxy.
    fn has(&self, authority: &Authority) -> bool {
        is_here(self.bound, self.is_secure, authority)
            || self.public.as_ref().is_some_and(|url| is_public(url, authority))
    }

    /// Returns true where a page of this origin is one of ours.
    fn is_own(&self, scheme: &str, authority: &Authority) -> bool {
        let own_scheme = if self.is_secure { "https" } else { "http" };
        let is_public =
            |url: &PublicUrl| scheme == if url.is_secure() { "https" } else { "http" } && is_public(url, authority);
        (scheme == own_scheme && is_here(self.bound, self.is_secure, authority))
            || self.public.as_ref().is_some_and(is_public)
    }
}

/// Returns true where an authority is that of the public address.
fn is_public(url: &PublicUrl, authority: &Authority) -> bool {
    let host = authority.host();
    let is_host = host.strip_suffix('.').unwrap_or(host).eq_ignore_ascii_case(url.host());
    let usual = if url.is_secure() { HTTPS_PORT } else { HTTP_PORT };
    !authority.as_str().contains('@') && is_host && port_of(authority, usual) == Some(url.port())
}

/// Returns the port that an authority means. One that is there but is no port, such as `localhost:` or `localhost:99999`, is
/// none.
fn port_of(authority: &Authority, usual: u16) -> Option<u16> {
    let has_port = authority.as_str().len() > authority.host().len();
    if has_port { authority.port_u16() } else { Some(usual) }
}

/// Returns true where an authority names the bound address: its number or `localhost`, and its port.
fn is_here(bound: SocketAddr, is_secure: bool, authority: &Authority) -> bool {
    // The parser takes user information as part of it; nobody honest sends any.
    if authority.as_str().contains('@') {
        return false;
    }
    if port_of(authority, if is_secure { HTTPS_PORT } else { HTTP_PORT }) != Some(bound.port()) {
        return false;
    }
    let host = authority.host();
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    number.parse::<IpAddr>().is_ok_and(|address| address == bound.ip() || is_standard_loopback(address))
}

/// The two that `localhost` stands for. Others of 127.0.0.0/8 count only where they are bound.
fn is_standard_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address == std::net::Ipv4Addr::LOCALHOST,
        IpAddr::V6(address) => address == std::net::Ipv6Addr::LOCALHOST,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn bound() -> SocketAddr {
        "127.0.0.1:8765".parse().unwrap()
    }

    fn judge(hosts: &[&str], origins: &[&str]) -> Result<(), Foreign> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        for origin in origins {
            headers.append(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        names(bound()).check(Version::HTTP_11, &Uri::from_static("/mcp"), &headers)
    }

    fn names(bound: SocketAddr) -> Names {
        Names { bound, is_secure: false, public: None }
    }

    #[test]
    fn this_machine_is_named_in_several_ways() {
        for host in ["127.0.0.1:8765", "localhost:8765", "LocalHost:8765", "localhost.:8765", "[::1]:8765"] {
            assert_eq!(judge(&[host], &[]), Ok(()), "{host}");
            assert_eq!(judge(&[host], &[&format!("http://{host}")]), Ok(()), "{host}");
        }
    }

    #[test]
    fn any_other_host_is_foreign() {
        let hosts = [
            "evil.example",
            "evil.example:8765",
            "localhost",
            "localhost:",
            "localhost:80",
            "localhost:99999",
            "localhost:8765.evil.example",
            "localhost.evil.example:8765",
            "user@localhost:8765",
            "localhost@evil.example:8765",
            "127.0.0.2:8765",
            "0.0.0.0:8765",
            "2130706433:8765",
            "127.1:8765",
            "[::ffff:127.0.0.1]:8765",
            "localhost..:8765",
            "",
        ];
        for host in hosts {
            assert_eq!(judge(&[host], &[]), Err(Foreign::Host), "{host}");
        }
        assert_eq!(judge(&[], &[]), Err(Foreign::Host), "HTTP/1.1 requires one");
        assert_eq!(judge(&["localhost:8765", "localhost:8765"], &[]), Err(Foreign::Host), "two are a trick");
    }

    #[test]
    fn any_other_origin_is_foreign() {
        let origins = [
            "null",
            "http://evil.example",
            "https://localhost:8765",
            "http://localhost:3000",
            "http://localhost",
            "http://localhost:8765.evil.example",
            "http://localhost:8765/",
            "file://",
            "",
        ];
        for origin in origins {
            assert_eq!(judge(&["localhost:8765"], &[origin]), Err(Foreign::Origin), "{origin}");
        }
        let two = ["http://localhost:8765", "http://localhost:8765"];
        assert_eq!(judge(&["localhost:8765"], &two), Err(Foreign::Origin));
    }

    #[test]
    fn the_absolute_form_is_held_to_the_same() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:8765"));
        let judge = |uri| names(bound()).check(Version::HTTP_11, &Uri::from_static(uri), &headers);
        assert_eq!(judge("http://127.0.0.1:8765/mcp"), Ok(()));
        assert_eq!(judge("http://evil.example/mcp"), Err(Foreign::Host));
    }

    #[test]
    fn the_port_may_be_left_out_where_it_is_the_one_of_the_scheme() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        let names = names("127.0.0.1:80".parse().unwrap());
        assert_eq!(names.check(Version::HTTP_11, &Uri::from_static("/mcp"), &headers), Ok(()));
    }

    #[test]
    fn the_public_address_counts_whoever_stands_before_it() {
        let public = Some(PublicUrl::parse("https://gateway.example").unwrap());
        let names = Names { bound: bound(), is_secure: false, public };
        let judge = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            names.check(Version::HTTP_11, &Uri::from_static("/mcp"), &headers)
        };
        for host in ["gateway.example", "GATEWAY.example:443", "gateway.example.", "127.0.0.1:8765"] {
            assert_eq!(judge(host, None), Ok(()), "{host}");
            assert_eq!(judge(host, Some("https://gateway.example")), Ok(()), "{host}");
        }
        for host in ["gateway.example:8765", "gateway.example:80", "gateway.example.evil.example", "a@gateway.example"]
        {
            assert_eq!(judge(host, None), Err(Foreign::Host), "{host}");
        }
        for origin in ["http://gateway.example", "https://gateway.example:8443", "https://evil.example", "null"] {
            assert_eq!(judge("gateway.example", Some(origin)), Err(Foreign::Origin), "{origin}");
        }
    }

    #[test]
    fn a_message_with_two_ends_is_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:8765"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("5"));
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        let judged = names(bound()).check(Version::HTTP_11, &Uri::from_static("/mcp"), &headers);
        assert_eq!(judged, Err(Foreign::Framing));
    }
}

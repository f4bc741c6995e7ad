//! What an operator grants to a policy besides settings, packs, subject and facts.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// What one policy is granted. Nothing, unless the operator's config says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilityGrants {
    /// Requests over HTTP.
    pub http: Option<HttpGrant>,
    /// True where it sees secrets although it has a capability.
    pub sees_secrets: bool,
    /// True where it sees documents and texts although it has a capability.
    pub sees_payload: bool,
}

impl CapabilityGrants {
    /// Names every capability, and yet nothing is reached: for tools that try a policy without its surroundings.
    pub fn in_name_only() -> Self {
        Self { http: Some(HttpGrant::default()), ..Self::default() }
    }
}

/// Where a policy may send requests, and what they may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGrant {
    /// Origins that it may reach; without any, every request is refused.
    pub hosts: Vec<HttpOrigin>,
    /// Addresses that are not public and that the names of `hosts` may resolve to all the same.
    pub addresses: Vec<IpAddr>,
    /// One request, from resolving its name to the last byte of its answer.
    pub timeout: Duration,
    /// Wall time that an evaluation may take besides its budget, because waiting is no work.
    pub wall: Duration,
    /// Requests of one evaluation.
    pub requests: u32,
    /// Bytes of the body of one request.
    pub request_bytes: usize,
    /// Bytes of the body of one answer.
    pub response_bytes: usize,
    /// How long the host gives the same answer to the same request; zero for never.
    pub cache: Duration,
}

impl Default for HttpGrant {
    /// Reaches nothing. Look-ups answer within a second and hold a few hundred kilobytes at most; a call that waits for one
    /// should not be taken for dead, so that all of them together end within ten seconds.
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            addresses: Vec::new(),
            timeout: Duration::from_secs(3),
            wall: Duration::from_secs(10),
            requests: 16,
            request_bytes: 64 * 1024,
            response_bytes: 1024 * 1024,
            cache: Duration::from_hours(1),
        }
    }
}

impl HttpGrant {
    /// Returns true where the grant names this origin.
    pub fn names(&self, origin: &HttpOrigin) -> bool {
        self.hosts.contains(origin)
    }

    /// Returns true where a connection to an address of a named origin may be made: a public one, or one that is named
    /// itself, as an origin or as an address.
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address)
            || self.addresses.iter().any(|named| named.to_canonical() == address)
            || self.hosts.iter().any(|origin| origin.address().is_some_and(|named| named == address))
    }
}

/// One place that requests may be sent to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpOrigin {
    /// True for HTTPS.
    pub secure: bool,
    /// Lower-case name or address; an IPv6 address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// Why a text names no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// Another scheme than HTTP and HTTPS.
    #[error("has another scheme than `https://` or `http://`")]
    Scheme,
    /// More than scheme, host and port, or less than a host.
    #[error("is no host: write `name`, `name:port` or `http://name:port`, without a path, a user or a wildcard")]
    Host,
    /// The port is no number from 1 to 65535.
    #[error("has a port that is no number from 1 to 65535")]
    Port,
}

impl HttpOrigin {
    /// Parses `[scheme://]host[:port]`; HTTPS where no scheme stands.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let (secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return Err(OriginError::Scheme),
            None => (true, text),
        };
        let (host, port) = split(rest)?;
        let port = match port {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().ok().filter(|port| *port != 0).ok_or(OriginError::Port)?
            }
            Some(_) => return Err(OriginError::Port),
            None => Self::usual_port(secure),
        };
        Ok(Self { secure, host, port })
    }

    /// Returns the port of a scheme where none is written.
    pub fn usual_port(secure: bool) -> u16 {
        if secure { 443 } else { 80 }
    }

    /// Returns the address, where the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
    }
}

fn split(rest: &str) -> Result<(String, Option<&str>), OriginError> {
    if let Some((address, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let address: Ipv6Addr = address.parse().map_err(|_no_address| OriginError::Host)?;
        let port = match after {
            "" => None,
            after => Some(after.strip_prefix(':').ok_or(OriginError::Host)?),
        };
        return Ok((address.to_string(), port));
    }
    let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.is_empty() || host.len() > 253 || !host.bytes().all(allowed) || host.split('.').any(str::is_empty) {
        return Err(OriginError::Host);
    }
    Ok((host, port))
}

impl fmt::Display for HttpOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        if self.host.contains(':') {
            write!(formatter, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(formatter, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

/// Returns true for an address of the public internet: what is neither of this machine nor of a network around it, nor set
/// aside for another purpose (IANA special-purpose address registries, RFC 6890 and its successors). The addresses at
/// which clouds tell machines their credentials are link-local, unique-local or shared ones, so none is public.
pub fn is_public(address: IpAddr) -> bool {
    !crate::is_special_address(address.to_canonical())
}

#[cfg(test)]
mod tests;

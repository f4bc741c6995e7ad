//! Which places are reached on behalf of a server: what it names must not lead into networks that it cannot see itself.

use std::net::{IpAddr, SocketAddr};

use portcullis_model::is_special_address;
use url::{Host, Origin, Url};

/// A place that is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// It is not encrypted.
    #[error("`{0}` is not encrypted (https)")]
    NotEncrypted(String),
    /// It is, or is named for, an address that nothing of the internet is at, and the server is one of the internet.
    #[error("`{0}` is at an address of a network of its own, where this server must not lead")]
    Special(String),
    /// Its name has no address.
    #[error("`{0}` has no address")]
    NoAddress(String),
}

/// How near a place is: what it names may be as near as it is itself, and no nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Internet,
    Private,
    Loopback,
}

/// What may be reached on behalf of a server: its own origin, whatever that is, since the operator wrote it; besides that
/// what is no nearer than it is.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    own: Origin,
    nearness: Nearness,
}

impl Reach {
    /// Finds out how near a server is.
    pub(crate) async fn of(server: &Url) -> Self {
        let found = look_up(server).await.unwrap_or_default();
        let nearness = found.iter().filter_map(|address| nearness(address.ip())).min().unwrap_or(Nearness::Internet);
        Self { own: server.origin(), nearness }
    }

    /// Returns true for a place at the server's own origin.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.own
    }

    /// Returns the addresses at which a place may be reached. Empty where a proxy finds it that this machine does not.
    pub(crate) async fn vet(&self, url: &Url) -> Result<Vec<SocketAddr>, ReachError> {
        let shown = || url.host_str().unwrap_or_default().to_owned();
        let found = look_up(url).await;
        let is_loopback = !found.as_deref().unwrap_or_default().is_empty()
            && found.iter().flatten().all(|address| address.ip().to_canonical().is_loopback());
        if url.scheme() != "https" && !(is_loopback && (self.is_own(url) || self.nearness == Nearness::Loopback)) {
            return Err(ReachError::NotEncrypted(shown()));
        }
        let Some(found) = found else {
            // Where a proxy is used, it resolves names; what it may reach is for whoever runs it.
            return if has_proxy() { Ok(Vec::new()) } else { Err(ReachError::NoAddress(shown())) };
        };
        let is_fit = |address: &SocketAddr| nearness(address.ip()).is_some_and(|near| near <= self.nearness);
        // One that is too near makes all suspicious, so that nobody mixes a good one with a bad.
        if self.is_own(url) || found.iter().all(is_fit) { Ok(found) } else { Err(ReachError::Special(shown())) }
    }
}

/// Returns how near an address is; nothing for one that no server is at.
fn nearness(address: IpAddr) -> Option<Nearness> {
    let address = address.to_canonical();
    if address.is_loopback() {
        return Some(Nearness::Loopback);
    }
    let is_private = match address {
        // RFC 1918, and what carriers share (RFC 6598), where overlay networks are.
        IpAddr::V4(address) => address.is_private() || (address.to_bits() ^ 0x6440_0000) >> 22 == 0,
        IpAddr::V6(address) => address.is_unique_local(),
    };
    match (is_private, is_special_address(address)) {
        (true, _) => Some(Nearness::Private),
        (false, true) => None,
        (false, false) => Some(Nearness::Internet),
    }
}

async fn look_up(url: &Url) -> Option<Vec<SocketAddr>> {
    let port = url.port_or_known_default()?;
    let found = match url.host()? {
        Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
        Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
        Host::Domain(name) => tokio::net::lookup_host((name, port)).await.ok()?.collect(),
    };
    (!found.is_empty()).then_some(found)
}

/// Returns true where the environment names a proxy for what is encrypted.
fn has_proxy() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].into_iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[tokio::test]
    async fn a_server_of_the_internet_leads_to_the_internet_alone() {
        let reach = Reach::of(&url("https://8.8.8.8/mcp")).await;
        assert!(reach.vet(&url("https://1.1.1.1/token")).await.is_ok());
        for inside in [
            "https://127.0.0.1/token",
            "https://10.0.0.1/token",
            "https://169.254.169.254/latest",
            "https://[::1]/token",
            "https://[::ffff:10.0.0.1]/token",
            "https://[fd00::1]/token",
            "https://[64:ff9b::7f00:1]/token",
            "https://2130706433/token",
            "https://localhost/token",
        ] {
            assert!(matches!(reach.vet(&url(inside)).await, Err(ReachError::Special(_))), "{inside}");
        }
        assert!(matches!(reach.vet(&url("http://1.1.1.1/token")).await, Err(ReachError::NotEncrypted(_))));
        assert!(matches!(reach.vet(&url("http://8.8.8.8/token")).await, Err(ReachError::NotEncrypted(_))));
    }

    #[tokio::test]
    async fn a_server_of_a_private_network_leads_into_private_networks_and_not_to_this_machine() {
        let reach = Reach::of(&url("https://10.1.2.3/mcp")).await;
        for there in ["https://10.0.0.9/token", "https://192.168.1.1/token", "https://[fd00::1]/t", "https://1.1.1.1/t"]
        {
            assert!(reach.vet(&url(there)).await.is_ok(), "{there}");
        }
        for nearer in ["https://127.0.0.1/token", "https://169.254.169.254/latest", "https://[fe80::1]/token"] {
            assert!(reach.vet(&url(nearer)).await.is_err(), "{nearer}");
        }
    }

    #[tokio::test]
    async fn a_server_of_this_machine_leads_anywhere_but_to_what_no_server_is_at() {
        let reach = Reach::of(&url("http://127.0.0.1:8080/mcp")).await;
        for there in
            ["http://127.0.0.1:9/token", "http://localhost:8080/token", "http://[::1]:9/token", "https://10.0.0.9/t"]
        {
            assert!(reach.vet(&url(there)).await.is_ok(), "{there}");
        }
        for wrong in
            ["https://169.254.169.254/latest", "http://10.0.0.9/token", "http://1.1.1.1/token", "https://0.0.0.0/t"]
        {
            assert!(reach.vet(&url(wrong)).await.is_err(), "{wrong}");
        }
    }
}

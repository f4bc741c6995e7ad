//! Where requests come from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::HeaderMap;

/// The network of a source, as limits and audit count it: an IPv6 site has a /64 at least, so that single addresses say
/// nothing about who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network(pub(crate) IpAddr);

impl Network {
    /// Returns what one bucket of a rate limit is for: an IPv4 address, an IPv6 /64.
    pub(crate) fn to_limit(address: IpAddr) -> Self {
        Self(cut(address, 32, 64))
    }

    /// Returns what counts as one place in the audit: an IPv4 /24, an IPv6 /48.
    pub(crate) fn to_audit(address: IpAddr) -> Self {
        Self(cut(address, 24, 48))
    }
}

/// An IPv4 address may be written as an IPv6 one (RFC 4291 §2.5.5.2).
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn cut(address: IpAddr, four: u8, six: u8) -> IpAddr {
    match plain(address) {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask_of_32(four))),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask_of_128(six))),
    }
}

fn mask_of_32(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)
}

fn mask_of_128(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0)
}

/// A range of addresses, such as `192.0.2.0/24`; a single address is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRange {
    first: IpAddr,
    length: u8,
}

/// The text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address or range of addresses such as 192.0.2.0/24")]
pub struct AddressRangeError(String);

impl FromStr for AddressRange {
    type Err = AddressRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || AddressRangeError(text.chars().take(64).collect());
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(longest);
        if length > longest {
            return Err(wrong());
        }
        Ok(Self { first: cut(address, length, length), length })
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.first, self.length)
    }
}

impl AddressRange {
    /// Returns true where an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = plain(address);
        address.is_ipv4() == self.first.is_ipv4() && cut(address, self.length, self.length) == self.first
    }
}

/// Proxies whose word is taken for where a request comes from.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    /// Their addresses.
    pub ranges: Vec<AddressRange>,
    /// The one header that they write, in lower case: `x-forwarded-for`, `cf-connecting-ip`.
    pub header: String,
}

/// Hops of a forwarding header that are looked at: a chain of proxies is short.
const MOST_HOPS: usize = 16;

impl TrustedProxies {
    /// Returns where a request comes from: the peer, or what trusted proxies say of the last hop that is none of them.
    pub(crate) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let is_proxy = |address: IpAddr| self.ranges.iter().any(|range| range.contains(address));
        let peer = plain(peer);
        if self.header.is_empty() || !is_proxy(peer) {
            return peer;
        }
        // The last header and the last hop are what the proxy next to us wrote; what stands before may be made up.
        let lines: Vec<&str> =
            headers.get_all(self.header.as_str()).iter().filter_map(|line| line.to_str().ok()).collect();
        let mut source = peer;
        for hop in lines.iter().rev().flat_map(|line| line.rsplit(',')).take(MOST_HOPS) {
            let Some(address) = hop_address(hop.trim()) else { return source };
            source = address;
            if !is_proxy(address) {
                return address;
            }
        }
        source
    }
}

/// Reads one hop: an address, with or without brackets and port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let plain_address = hop.strip_prefix('[').and_then(|hop| hop.split(']').next()).unwrap_or(hop);
    let address = plain_address.parse().ok().or_else(|| Some(hop.parse::<std::net::SocketAddr>().ok()?.ip()));
    address.map(plain)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_holds_what_shares_its_first_bits() {
        let range: AddressRange = "192.0.2.77/24".parse().unwrap();
        assert_eq!(range.to_string(), "192.0.2.0/24");
        assert!(range.contains(address("192.0.2.1")) && range.contains(address("::ffff:192.0.2.9")));
        assert!(!range.contains(address("192.0.3.1")) && !range.contains(address("2001:db8::1")));
        let one: AddressRange = "2001:db8::1".parse().unwrap();
        assert!(one.contains(address("2001:db8::1")) && !one.contains(address("2001:db8::2")));
        assert!("0.0.0.0/0".parse::<AddressRange>().unwrap().contains(address("203.0.113.5")));
        for wrong in ["", "192.0.2.0/33", "192.0.2/24", "::/129", "localhost", "192.0.2.0/-1"] {
            assert!(wrong.parse::<AddressRange>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_source_is_the_last_hop_that_no_trusted_proxy_is() {
        let proxies = TrustedProxies {
            ranges: vec!["127.0.0.1".parse().unwrap(), "10.0.0.0/8".parse().unwrap()],
            header: "x-forwarded-for".to_owned(),
        };
        let from = |peer: &str, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
            }
            proxies.source(address(peer), &headers).to_string()
        };
        assert_eq!(from("127.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(
            from("127.0.0.1", &["1.1.1.1, 203.0.113.9, 10.1.2.3"]),
            "203.0.113.9",
            "what stands before is made up"
        );
        assert_eq!(from("127.0.0.1", &["1.1.1.1", "203.0.113.9"]), "203.0.113.9", "so is an earlier header");
        assert_eq!(from("127.0.0.1", &["[2001:db8::7]:443"]), "2001:db8::7");
        assert_eq!(from("127.0.0.1", &["203.0.113.9:1234"]), "203.0.113.9");
        assert_eq!(from("127.0.0.1", &["unknown"]), "127.0.0.1", "no word is no other source");
        assert_eq!(from("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(from("203.0.113.1", &["198.51.100.1"]), "203.0.113.1", "who is no proxy has no say");
        let none = TrustedProxies::default();
        assert_eq!(none.source(address("127.0.0.1"), &HeaderMap::new()), address("127.0.0.1"));
    }

    #[test]
    fn limits_and_audit_count_networks() {
        assert_eq!(Network::to_limit(address("2001:db8:1:2:3::4")), Network(address("2001:db8:1:2::")));
        assert_eq!(Network::to_audit(address("192.0.2.77")), Network(address("192.0.2.0")));
        assert_eq!(Network::to_audit(address("2001:db8:1:2::3")), Network(address("2001:db8:1::")));
    }
}

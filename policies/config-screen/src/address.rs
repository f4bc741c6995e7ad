//! Addresses, in every form that a resolver takes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads an IPv4 address as `inet_aton` does: one to four parts, each decimal, octal with a leading zero or hexadecimal with
/// `0x`; the last part fills what is left.
pub(crate) fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut parts = Vec::with_capacity(4);
    for part in text.split('.') {
        if parts.len() == 4 {
            return None;
        }
        parts.push(number(part)?);
    }
    let last = parts.pop()?;
    let mut value: u64 = 0;
    let filled = parts.len();
    for part in parts {
        if part > 255 {
            return None;
        }
        value = (value << 8) | part;
    }
    let room = 8 * u32::try_from(4 - filled).ok()?;
    if last >= 1u64.checked_shl(room)? {
        return None;
    }
    u32::try_from((value << room) | last).ok().map(Ipv4Addr::from)
}

fn number(part: &str) -> Option<u64> {
    let (digits, radix) = match part.as_bytes() {
        [b'0', b'x' | b'X', ..] => (part.get(2..)?, 16),
        [b'0', _, ..] => (part.get(1..)?, 8),
        _ => (part, 10),
    };
    let plain = !digits.is_empty() && digits.len() <= 11 && digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

/// Reads a host as an address; brackets, a zone and a mapped IPv4 address are seen through.
pub(crate) fn host(text: &str) -> Option<IpAddr> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    let text = text.split('%').next().unwrap_or(text);
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4));
    }
    ipv4(text).map(IpAddr::V4)
}

/// Returns true for addresses of this machine, by number or by name.
pub(crate) fn is_loopback(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name == "host.docker.internal"
        || host(&name).is_some_and(|address| address.is_loopback() || address.is_unspecified())
}

/// Returns true for addresses that no network routes to the outside.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_private() || address.is_loopback() || address.is_link_local() || address.is_unspecified()
        }
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

/// A range of IPv4 addresses, written `60.165.167.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    first: u32,
    mask: u32,
}

impl Range {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (base, bits) = text.split_once('/').unwrap_or((text, "32"));
        let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32)?;
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
        let base: Ipv4Addr = base.parse().ok()?;
        Some(Self { first: u32::from(base) & mask, mask })
    }

    pub(crate) fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & self.mask == self.first
    }
}

/// The parts of a URL that matter here. Wide where URLs are malformed: what a client would make of them is then unknown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) user: Option<&'a str>,
    pub(crate) host: &'a str,
}

/// Splits a URL.
pub(crate) fn url(text: &str) -> Option<Url<'_>> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.');
    if scheme.is_empty() || !scheme.chars().all(plain) {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((inner, _)) => inner,
        None => host.split(':').next().unwrap_or(host),
    };
    Some(Url { scheme, user, host })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_numeric_form_of_an_address_is_the_same_address() {
        let expected = Ipv4Addr::new(169, 254, 169, 254);
        for text in
            ["169.254.169.254", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.16689662", "0xa9.254.43518"]
        {
            assert_eq!(ipv4(text), Some(expected), "{text}");
        }
        assert_eq!(host("[::ffff:169.254.169.254]"), Some(IpAddr::V4(expected)));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in ["", "1.2.3.4.5", "256.1.1.1", "1.2.3.", "0x", "99999999999", "a.b", "1..2"] {
            assert_eq!(ipv4(text), None, "{text}");
        }
    }

    #[test]
    fn a_range_holds_its_addresses_only() {
        let range = Range::parse("60.165.167.0/24").unwrap();
        assert!(range.contains(Ipv4Addr::new(60, 165, 167, 9)));
        assert!(!range.contains(Ipv4Addr::new(60, 165, 168, 9)));
        assert!(Range::parse("1.2.3.4").unwrap().contains(Ipv4Addr::new(1, 2, 3, 4)));
    }

    #[test]
    fn the_host_of_a_url_is_behind_the_last_at_sign() {
        let url = url("https://api.github.com@evil.example:8443/mcp").unwrap();
        assert_eq!((url.user, url.host), (Some("api.github.com"), "evil.example"));
        assert_eq!(super::url("http://[::1]:80/x").unwrap().host, "::1");
    }
}

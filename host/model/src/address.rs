//! Addresses that nothing of the internet is at (IANA special-purpose address registries, RFC 6890).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that are no place of the internet, as first address and length.
const FOUR: [(u32, u32); 17] = [
    (0x0000_0000, 8),  // this network
    (0x0A00_0000, 8),  // private
    (0x6440_0000, 10), // shared by carriers
    (0x7F00_0000, 8),  // loopback
    (0xA9FE_0000, 16), // link-local, and what clouds tell their machines
    (0xAC10_0000, 12), // private
    (0xC000_0000, 24), // protocol assignments
    (0xC000_0200, 24), // documentation
    (0xC01F_C400, 24), // AS112
    (0xC034_C100, 24), // AMT
    (0xC058_6300, 24), // 6to4 relays
    (0xC0A8_0000, 16), // private
    (0xC0AF_3000, 24), // AS112
    (0xC612_0000, 15), // benchmarks
    (0xC633_6400, 24), // documentation
    (0xCB00_7100, 24), // documentation
    (0xE000_0000, 3),  // multicast, reserved, broadcast
];

/// Ranges of IPv6 that are no place of the internet, besides everything outside of `2000::/3`.
const SIX: [(u128, u32); 5] = [
    (0x2001_0000_0000_0000_0000_0000_0000_0000, 23), // protocol assignments, Teredo among them
    (0x2001_0db8_0000_0000_0000_0000_0000_0000, 32), // documentation
    (0x2002_0000_0000_0000_0000_0000_0000_0000, 16), // 6to4: an IPv4 address inside
    (0x2620_004f_8000_0000_0000_0000_0000_0000, 48), // AS112
    (0x3fff_0000_0000_0000_0000_0000_0000_0000, 20), // documentation
];

/// Returns true for an address that nothing of the internet is at. Everything outside of the global unicast range counts,
/// with it what holds an IPv4 address: mapped, compatible, NAT64.
pub fn is_special_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_special_four(address),
        IpAddr::V6(address) => is_special_six(address),
    }
}

fn is_special_four(address: Ipv4Addr) -> bool {
    FOUR.iter().any(|(first, length)| (address.to_bits() ^ first) >> (32 - length) == 0)
}

fn is_special_six(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    bits >> 125 != 1 || SIX.iter().any(|(first, length)| (bits ^ first) >> (128 - length) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_internet_is_at_a_special_address() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(is_special_address(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.254",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860::8888",
        ] {
            assert!(!is_special_address(text.parse().unwrap()), "{text}");
        }
    }
}

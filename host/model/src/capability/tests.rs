use super::*;

fn origin(text: &str) -> HttpOrigin {
    HttpOrigin::parse(text).unwrap()
}

#[test]
fn an_origin_has_a_scheme_a_host_and_a_port_and_nothing_else() {
    assert_eq!(origin("api.OSV.dev").to_string(), "https://api.osv.dev:443");
    assert_eq!(origin("http://localhost:8080").to_string(), "http://localhost:8080");
    assert_eq!(origin("https://[::1]:8443").to_string(), "https://[::1]:8443");
    assert_eq!(origin("api.osv.dev.").host, "api.osv.dev");
    for bad in ["", "*.osv.dev", "a/b", "user@host", "a..b", "[::1", "[::1]8", "host:1:2", "ftp://host", "a b"] {
        assert!(HttpOrigin::parse(bad).is_err(), "{bad}");
    }
    for bad in ["host:", "host:0", "host:65536", "host:+1", "host:x"] {
        assert_eq!(HttpOrigin::parse(bad), Err(OriginError::Port), "{bad}");
    }
}

#[test]
fn addresses_of_this_machine_and_of_networks_around_it_are_not_public() {
    let inside = [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "100.64.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "fe80::1",
        "fd00:ec2::254",
        "fc00::1",
        "ff02::1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "100::1",
    ];
    for text in inside {
        assert!(!is_public(text.parse().unwrap()), "{text}");
    }
    for text in
        ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111", "2001:4860:4860::8888"]
    {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn an_address_that_is_not_public_is_reached_only_where_it_is_named() {
    let mut grant = HttpGrant { hosts: vec![origin("http://127.0.0.1:9")], ..HttpGrant::default() };
    assert!(grant.admits("127.0.0.1".parse().unwrap()) && grant.admits("::ffff:127.0.0.1".parse().unwrap()));
    assert!(!grant.admits("127.0.0.2".parse().unwrap()) && !grant.admits("10.1.2.3".parse().unwrap()));
    assert!(grant.admits("1.1.1.1".parse().unwrap()));
    grant.addresses = vec!["10.1.2.3".parse().unwrap()];
    assert!(grant.admits("10.1.2.3".parse().unwrap()));
}

#[test]
fn scheme_host_and_port_have_to_be_those_that_are_named() {
    let grant = HttpGrant { hosts: vec![origin("api.osv.dev")], ..HttpGrant::default() };
    assert!(grant.names(&origin("https://api.osv.dev:443")));
    for other in ["http://api.osv.dev", "api.osv.dev:444", "osv.dev", "x.api.osv.dev", "http://api.osv.dev:443"] {
        assert!(!grant.names(&origin(other)), "{other}");
    }
}

//! What the operator grants to policies, and exempts from them.

use std::time::Duration;

use super::*;

#[test]
fn grants_are_read_and_what_is_written_wrongly_is_not_granted() {
    let config = parse(
        "policies:
  package-advisories:
    grants: {http: {hosts: [api.osv.dev, 'http://10.1.2.3:8080'], addresses: 10.1.2.4, timeout: 2, cache: 0}, sees: payload}
  trust: {}
",
    );
    assert!(config.diagnostics.is_empty(), "{}", rendered(&config));
    let grants = &config.policies.entry("package-advisories").unwrap().grants;
    let http = grants.http.as_ref().unwrap();
    let hosts: Vec<_> = http.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["https://api.osv.dev:443", "http://10.1.2.3:8080"]);
    assert_eq!((http.addresses.len(), http.timeout, http.cache), (1, Duration::from_secs(2), Duration::ZERO));
    assert!(grants.sees_payload && !grants.sees_secrets);
    assert_eq!(config.policies.entry("trust").unwrap().grants, portcullis_model::CapabilityGrants::default());
    let wrong = parse(
        "policies: {a-policy: {grants: {htp: 1, http: {hosts: ['*.osv.dev', osv.dev], addresses: [x], requests: 0, tls: no}, sees: [secret]}},
         b-policy: {grants: http}}",
    );
    let places: Vec<_> = wrong.diagnostics.iter().map(|diagnostic| diagnostic.key_path.as_str()).collect();
    assert_eq!(wrong.policies.entry("a-policy").unwrap().grants.http.as_ref().unwrap().hosts.len(), 1);
    assert!(!wrong.policies.entry("a-policy").unwrap().grants.sees_secrets);
    assert_eq!(wrong.policies.entry("b-policy").unwrap().grants, portcullis_model::CapabilityGrants::default());
    for place in
        ["grants.htp", "http.hosts", "http.addresses", "http.requests", "http.tls", "grants.sees", "b-policy.grants"]
    {
        assert!(places.iter().any(|path| path.ends_with(place)), "{place}: {places:?}");
    }
}

#[test]
fn an_exemption_says_what_for_whom_until_when_and_why_or_exempts_nothing() {
    let good = "{rule: loud, server: web, tool: send, until: 2026-01-31, reason: accepted}";
    let config = parse(&format!("policies: {{flow: {{exempt: [{good}]}}}}"));
    assert!(config.diagnostics.is_empty(), "{}", rendered(&config));
    let [exemption] = config.policies.entry("flow").unwrap().exemptions.as_slice() else { panic!("one exemption") };
    assert_eq!(exemption.to_string(), "`loud` for `web`, `send` until 2026-01-31: accepted");
    for bad in [
        "{server: web, until: 2026-01-31, reason: x}",
        "{rule: loud, until: 2026-01-31, reason: x}",
        "{rule: loud, server: web, reason: x}",
        "{rule: loud, server: web, until: 2026-01-31}",
        "{rule: loud, server: web, until: 2026-01-31, reason: ' '}",
        "{rule: loud, server: web, until: 2026-02-30, reason: x}",
        "{rule: Loud Rule, server: web, until: 2026-01-31, reason: x}",
        "{rule: loud, server: web, tool: [a], until: 2026-01-31, reason: x}",
        "everything",
    ] {
        let config = parse(&format!("policies: {{flow: {{exempt: [{bad}]}}}}"));
        assert!(config.policies.entry("flow").unwrap().exemptions.is_empty(), "{bad}");
        assert!(!config.diagnostics.is_empty(), "{bad}");
    }
}

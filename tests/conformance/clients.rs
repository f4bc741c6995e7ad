//! The gateway as client: the suite plays the server behind it.

use portcullis_tests::Home;
use portcullis_tests::conformance::{Report, Suite};

use crate::PROGRAM;

/// What 2025-11-25 requires of clients, the scenarios of authorization left out, and one that is only reported.
const HANDSHAKE: [&str; 5] = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
];

/// What 2026-07-28 requires of them, likewise.
const STATELESS: [&str; 8] = [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
];

/// What both revisions require of clients that log in. The ones that are only reported are about extensions that the gateway does
/// not have: client credentials, enterprise-managed authorization, `DPoP`, workload identity.
const LOGINS: [&str; 14] = [
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
];

/// What 2026-07-28 requires of them besides.
const STATELESS_LOGINS: [&str; 11] = [
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
];

/// What 2025-03-26 knew, and servers of then still do.
const EARLY_LOGINS: [&str; 2] =
    ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"];

/// Runs scenarios with the gateway as client, itself spoken to in `era`, and asserts that each has checks and that all of
/// them hold. Returns how many there were, or why the suite cannot be had.
fn run(scenarios: &[&str], revision: &str, era: &str) -> Result<usize, String> {
    let suite = Suite::install()?;
    let home = Home::new(PROGRAM, "");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/support/conformance/client.py");
    let command = format!("python3 {script} {PROGRAM}");
    let folder = home.path().to_string_lossy();
    let environment = [("PORTCULLIS_HOME", &*folder), ("GATEWAY_CLIENT_ERA", era)];
    let mut all = Report::default();
    for scenario in scenarios {
        let report = suite.test_client(&command, scenario, revision, &environment).expect("the suite reports");
        assert!(report.passed() > 0, "{scenario} of {revision} checked nothing: {}", report.log);
        all.extend(report);
    }
    assert_eq!(all.failures(), Vec::<String>::new(), "of {revision}, spoken to in the {era} era");
    Ok(all.passed())
}

#[test]
fn the_gateway_is_a_client_as_the_revision_with_a_handshake_requires() {
    match run(&HANDSHAKE, "2025-11-25", "legacy") {
        Ok(passed) => println!("{passed} checks passed"),
        Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
    }
}

#[test]
fn the_gateway_is_a_client_as_the_stateless_revision_requires() {
    match run(&STATELESS, "2026-07-28", "modern") {
        Ok(passed) => println!("{passed} checks passed"),
        Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
    }
}

#[test]
fn the_gateway_logs_in_as_the_revision_with_a_handshake_requires() {
    match run(&LOGINS, "2025-11-25", "legacy") {
        Ok(passed) => println!("{passed} checks passed"),
        Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
    }
}

#[test]
fn the_gateway_logs_in_as_the_stateless_revision_requires() {
    match run(&[&LOGINS[..], &STATELESS_LOGINS].concat(), "2026-07-28", "modern") {
        Ok(passed) => println!("{passed} checks passed"),
        Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
    }
}

#[test]
fn the_gateway_logs_in_at_servers_of_before_there_was_metadata_of_resources() {
    match run(&EARLY_LOGINS, "2025-03-26", "legacy") {
        Ok(passed) => println!("{passed} checks passed"),
        Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
    }
}

#[test]
#[ignore = "both eras in front of both: cargo test -p portcullis-tests --test conformance -- --ignored"]
fn the_gateway_is_the_same_client_to_servers_whatever_era_its_own_client_speaks() {
    for (scenarios, revision, era) in
        [(&HANDSHAKE[..], "2025-11-25", "modern"), (&STATELESS[..], "2026-07-28", "legacy")]
    {
        match run(scenarios, revision, era) {
            Ok(passed) => println!("{revision}, {era} client: {passed} checks passed"),
            Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
        }
    }
}

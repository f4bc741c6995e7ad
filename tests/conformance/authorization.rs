//! The front door of the gateway as an authorization server.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use portcullis_model::json::{Value, parse_str};
use portcullis_tests::conformance::{Report, Suite};
use portcullis_tests::{Home, browser, consent};

use crate::PROGRAM;

/// The scenarios that the suite has of authorization servers.
const SCENARIOS: [&str; 2] = ["authorization-server-metadata-endpoint", "authorization-code-grant"];

/// Runs the suite against a gateway, as a client without a secret, and asserts that every check holds. The suite shows no secret
/// to servers that take clients without one.
fn run(revision: &str) -> Result<usize, String> {
    let suite = Suite::install()?;
    let home = Home::new(PROGRAM, "mcp_servers: {}\n");
    let added = ["client", "add", "suite", "--redirect", "http://127.0.0.1/callback", "--json"];
    let added = home.command(&added).output().expect("the program runs").stdout;
    let added = parse_str(String::from_utf8_lossy(&added).trim()).expect("JSON");
    let client = added.get("client_id").and_then(Value::as_str).expect("an id");
    let mut serving =
        home.command(&["serve", "--address", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(serving.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it listens");
    let issuer = line.split("/mcp").next().expect("an address").to_owned();
    let resource = format!("{issuer}/mcp");
    let report = suite.test_authorization((&issuer, &resource), client, revision, |page| {
        let back = consent(&home, page);
        // The suite's own page, which takes what the browser brings.
        let _page = browser::open(&back, "none=none");
    });
    drop(serving.kill());
    drop(serving.wait());
    Ok(judged(&report.expect("the suite reports")))
}

fn judged(report: &Report) -> usize {
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.log);
    for scenario in SCENARIOS {
        assert!(report.log.contains(scenario) && report.passed() >= SCENARIOS.len(), "{scenario}: {}", report.log);
    }
    report.passed()
}

#[test]
fn the_front_door_is_an_authorization_server_as_both_revisions_require() {
    for revision in ["2025-11-25", "2026-07-28"] {
        match run(revision) {
            Ok(passed) => println!("{revision}: {passed} checks passed"),
            Err(reason) => println!("skipped: the registries cannot be reached: {reason}"),
        }
    }
}

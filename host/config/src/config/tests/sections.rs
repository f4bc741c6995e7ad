//! What stands beside the servers.

use std::time::Duration;

use portcullis_gates::{Mode, OnFault};
use portcullis_model::GateName;

use super::*;
use crate::{Durability, Repeated};

#[test]
fn the_size_of_results_is_read_within_bounds() {
    let results = |text: &str| {
        let config = Config::parse(text, "test.yaml", Origin::ConfigFile, &Surroundings::new(|_| None));
        (config.results, config.diagnostics.len())
    };
    assert_eq!(results("{}"), (Results::default(), 0));
    let wanted = Results { largest_text: 5_000, copies: 0, repeated: Repeated::Text };
    assert_eq!(results("results: {largest_text: 5000, copies: 0, repeated: text}"), (wanted, 0));
    assert_eq!(results("results: {largest_text: 99000000}").0.largest_text, 4_000_000);
    assert_eq!(results("results: {largest_text: 10}").1, 1, "less than a model can use");
    assert_eq!(results("results: {repeated: never}").1, 1);
}

#[test]
fn the_other_sections_are_read() {
    let config = parse(
        r"policies:
  allow_unsigned: true
  directory: ~/policies
  required: [config-screen, trust]
  trust: {mode: shadow, settings: {read_only: [a]}}
  my-policy: {path: ~/p.wasm, on_fault: allow, rights: [deny, edit-span]}
naming: {prefix: none}
approvals: {client: false, timeout: 60, waiting: 3, expire_days: 7, operator: off, proof: terminal}
journal: {durability: power, keep_days: 7, max_size_mb: 200, payloads: full, payload_days: 3}
",
    );
    assert!(config.diagnostics.is_empty(), "{}", rendered(&config));
    let policies = &config.policies;
    assert_eq!(policies.allow_unsigned, crate::AllowUnsigned::All);
    assert_eq!(policies.directory.as_deref(), Some(Path::new("/home/u/policies")));
    assert_eq!(policies.required.as_ref().unwrap().len(), 2);
    assert_eq!(policies.entry("trust").unwrap().mode, Some(Mode::Shadow));
    assert_eq!(policies.entry("trust").unwrap().settings.to_json(), r#"{"read_only":["a"]}"#);
    let mine = policies.entry("my-policy").unwrap();
    assert_eq!(mine.on_fault, Some(OnFault::Allow));
    let rights = mine.rights.unwrap();
    assert!(rights.deny && rights.edit_span && !rights.ask && !rights.label);
    assert_eq!(config.naming, Naming::Qualified { prefix: None });
    assert!(!config.approvals.client);
    let approvals = &config.approvals;
    assert_eq!((approvals.timeout, approvals.waiting), (Duration::from_mins(1), 3));
    assert_eq!(approvals.expire, Duration::from_hours(7 * 24));
    assert_eq!((approvals.operator, approvals.proof), (false, crate::OperatorProof::Terminal));
    assert_eq!(config.journal.durability, Durability::Power);
    assert_eq!(config.journal.keep, Some(Duration::from_hours(7 * 24)));
    assert_eq!(config.journal.most_bytes, Some(200_000_000));
    assert_eq!(config.journal.payloads, crate::Payloads::Full);
    assert_eq!(config.journal.keep_payloads, Some(Duration::from_hours(3 * 24)));
}

#[test]
fn keys_are_read_with_their_scopes() {
    const KEY: &str = "RWTYckCirqnxrPly2wJM11RYLvAEHEtDJz/dsr0AsHAWhktzNzNNoCJQ";
    let config = parse(&format!(
        "policies: {{keys: [{{name: acme, key: {KEY}, names: [\"acme-*\"], gates: [call, result]}}, \
         {{name: ours, key: {KEY}, names: trust, may_loosen: true}}]}}"
    ));
    assert!(config.diagnostics.is_empty(), "{}", rendered(&config));
    let [acme, ours] = config.policies.keys.as_slice() else { panic!("two keys") };
    assert_eq!((acme.name.as_str(), acme.key.encoded(), acme.may_loosen), ("acme", KEY, false));
    assert_eq!(acme.gates.as_deref(), Some([GateName::Call, GateName::Result].as_slice()));
    assert_eq!((ours.names.patterns(), ours.gates.as_ref(), ours.may_loosen), (&["trust".to_owned()][..], None, true));
    // Whoever has keys means them, unless they say otherwise.
    assert_eq!(config.policies.allow_unsigned, crate::AllowUnsigned::Nothing);
    let packs = parse("policies: {keys: [], allow_unsigned: packs}");
    assert_eq!(packs.policies.allow_unsigned, crate::AllowUnsigned::Packs);
}

#[test]
fn the_status_tool_is_switched_by_a_word() {
    let read = |text: &str| Config::parse(text, "c", Origin::ConfigFile, &Surroundings::new(|_| None));
    for (text, expected) in [
        ("", StatusTool::Missing),
        ("status: off", StatusTool::Off),
        ("status: {tool: off}", StatusTool::Off),
        ("status: {tool: always}", StatusTool::Always),
        ("status: {tool: missing}", StatusTool::Missing),
    ] {
        let config = read(text);
        assert_eq!((config.status, config.diagnostics.len()), (expected, 0), "{text}");
    }
    let config = read("status: {tool: sometimes}");
    assert_eq!((config.status, config.has_errors()), (StatusTool::Missing, true));
}

#[test]
fn an_update_names_its_place_and_is_left_out_whole_where_something_is_wrong() {
    let text = "policies:
  update: {from: 'oci://registry.example/acme/policies:stable', every: 90s, mode: shadow, after: 10000, user: me, password_file: ~/p}
";
    let config = parse(text);
    assert_eq!(config.diagnostics, []);
    let update = config.policies.update.unwrap();
    assert_eq!((update.every, update.mode), (Duration::from_secs(90), crate::UpdateMode::Shadow));
    assert_eq!(update.after, Some(10_000));
    assert_eq!(update.password_file.unwrap(), std::path::Path::new("/home/u/p"));
    let usual = parse("policies: {update: {from: 'oci://r.example/a'}}").policies.update.unwrap();
    assert_eq!((usual.every, usual.mode), (Duration::from_mins(15), crate::UpdateMode::Apply));
    for (wrong, reason) in [
        ("{every: 15m}", "needs `from`"),
        ("{from: 'https://r.example/a'}", "needs `from`"),
        ("{from: 'oci://r.example/a', every: soon}", "`soon` is no time"),
        ("{from: 'oci://r.example/a', every: 0s}", "`0s` is no time"),
        ("{from: 'oci://r.example/a', mode: shaddow}", "shadow"),
        ("{from: 'oci://r.example/a', user: me}", "belong together"),
        ("{from: 'oci://r.example/a', after: never}", "after"),
        ("oci://r.example/a", "a map with `from`"),
    ] {
        let config = parse(&format!("policies: {{update: {wrong}}}"));
        assert_eq!(config.policies.update, None, "{wrong}");
        assert!(rendered(&config).contains(reason), "{wrong}: {}", rendered(&config));
    }
}

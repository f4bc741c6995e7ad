use std::time::Duration;

use portcullis_gates::{Mode, OnFault};
use portcullis_model::{GateName, Trust};

use super::*;
use crate::{Authentication, Durability, Protocol, Repeated, TlsVerification};

fn surroundings() -> Surroundings {
    Surroundings::new(|name| (name == "TOKEN").then(|| "s3cr3t".to_owned()))
        .with_home("/home/u")
        .with_workspace("/srv/project")
}

fn parse(text: &str) -> Config {
    Config::parse(text, "config.yaml", Origin::ConfigFile, &surroundings())
}

fn rendered(config: &Config) -> String {
    let lines: Vec<String> = config.diagnostics.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn names(config: &Config) -> Vec<&str> {
    config.servers.iter().map(|server| server.name().as_str()).collect()
}

const TWELVE: &str = r#"mcp_servers:
  good:
    command: npx
    args: [-y, "@modelcontextprotocol/server-memory"]
  one:
    command: uvx
    timeout: soon
  two:
    command: uvx
    connect_timeout: -5
  three:
    command: uvx
    idle_timeout_seconds: .nan
  four:
    command: uvx
    keepalive_interval: true
  five:
    url: ftp://example.com/mcp
  six:
    args: [x]
  seven:
    command: uvx
    env: ["A=1"]
  eight:
    command: uvx
    env: {TOKEN: "${NOT_SET}"}
  nine:
    url: https://example.com/mcp
    transport: ssee
  ten:
    command: uvx
    command: npx
  eleven:
    command: [uvx, mcp-server-git]
  twelve:
    url: https://example.com/mcp
    tools:
      include: {a: b}
  also-good:
    url: https://example.com/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
"#;

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
fn a_config_with_twelve_mistakes_gives_twelve_located_diagnostics_and_the_good_servers_run() {
    let config = parse(TWELVE);
    assert_eq!(names(&config), ["good", "also-good"]);
    assert_eq!(config.diagnostics.len(), 12);
    assert_eq!(config.left_out.len(), 12);
    for diagnostic in &config.diagnostics {
        assert_eq!(diagnostic.level, Level::Error);
        assert!(diagnostic.line > 0 && diagnostic.column > 0, "{diagnostic}");
        assert!(config.left_out.contains(diagnostic.server.as_ref().unwrap()), "{diagnostic}");
    }
    insta::assert_snapshot!(rendered(&config));
}

#[test]
fn diagnostics_have_a_form_for_scripts() {
    let config = parse(TWELVE);
    insta::assert_snapshot!(config.diagnostics[0].to_value().to_json());
}

#[test]
fn every_documented_key_is_read() {
    let config = parse(
        r#"mcp_servers:
  local:
    command: ~/bin/server
    args: [--port, 8080]
    env: {TOKEN: "${TOKEN}", LEVEL: 3, VERBOSE: true}
    cwd: ~/work
    enabled: "Yes"
    timeout: 12.5
    connect_timeout: "30"
    keepalive_interval: 1
    lifecycle: {idle_timeout_seconds: 0, max_lifetime_seconds: 3600}
    supports_parallel_tool_calls: 1
    lazy: on
    trust: " Untrusted "
    protocol: handshake
    tools: {include: [a, "b*"], resources: no}
    sampling:
    elicitation: {timeout: 20}
  remote:
    url: " https://example.com/mcp "
    headers: {X-Key: k}
    transport: SSE
    ssl_verify: ~/ca.pem
    client_cert: ~/client.pem
    client_key: ~/client-key.pem
    strict_redirect_headers: true
    auth: OAuth
    oauth: {client_id: abc}
    sampling: {max_rpm: "5", model: small, allowed_models: [small]}
    enabled: 0
"#,
    );
    assert_eq!(names(&config), ["local", "remote"], "{}", rendered(&config));
    let local = config.server("local").unwrap();
    let Launch::Stdio { command, arguments, working_directory, environment } = &local.entry.launch else {
        panic!("a process");
    };
    assert_eq!(command, "/home/u/bin/server");
    assert_eq!(arguments, &["--port", "8080"]);
    assert_eq!(working_directory.as_deref(), Some("/home/u/work"));
    let environment: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(environment, [("TOKEN", "s3cr3t"), ("LEVEL", "3"), ("VERBOSE", "true")]);
    let options = &local.options;
    assert!(options.enabled && options.lazy && options.supports_parallel_tool_calls == Some(true));
    assert_eq!(options.timeout, Duration::from_millis(12_500));
    assert_eq!(options.connect_timeout, Duration::from_secs(30));
    assert_eq!(options.keepalive_interval, Duration::from_secs(5));
    assert_eq!((options.idle_timeout, options.max_lifetime), (None, Some(Duration::from_hours(1))));
    assert_eq!((options.trust, options.protocol), (Some(Trust::Untrusted), Protocol::Legacy));
    assert_eq!(options.filter.include.as_deref(), Some(["a".to_owned(), "b*".to_owned()].as_slice()));
    assert!(!options.filter.resources && options.filter.prompts);
    assert_eq!(options.sampling.to_json(), "{}");
    assert_eq!(options.elicitation.to_json(), r#"{"timeout":20}"#);

    let remote = config.server("remote").unwrap();
    let Launch::Http { url, legacy_sse, .. } = &remote.entry.launch else {
        panic!("an endpoint");
    };
    assert_eq!((url.as_str(), *legacy_sse), ("https://example.com/mcp", true));
    assert!(!remote.options.enabled);
    assert_eq!(remote.options.tls, TlsVerification::Authorities("/home/u/ca.pem".into()));
    let identity = remote.options.client_identity.as_ref().unwrap();
    assert_eq!(identity.certificate.to_str(), Some("/home/u/client.pem"));
    assert_eq!(identity.key.as_ref().and_then(|key| key.to_str()), Some("/home/u/client-key.pem"));
    assert!(!rendered(&config).contains("client_cert") && !rendered(&config).contains("strict_redirect_headers"));
    assert!(matches!(remote.options.authentication, Authentication::OAuth(_)));
    assert_eq!(remote.options.sampling.to_json(), r#"{"max_rpm":5,"model":"small","allowed_models":["small"]}"#);
}

#[test]
fn what_is_set_for_certificates_and_redirects_and_has_no_effect_is_told() {
    let config = parse(
        "mcp_servers: {a: {url: 'https://example.com/', client_cert: [a.pem, b.pem, word], strict_redirect_headers: false}}",
    );
    let told: Vec<_> = config.diagnostics.iter().map(|diagnostic| diagnostic.kind).collect();
    assert_eq!(told, [DiagnosticKind::NotSupported, DiagnosticKind::NotSupported], "{}", rendered(&config));
    assert!(rendered(&config).contains("encrypted keys") && rendered(&config).contains("another origin"));
    assert!(!rendered(&config).contains("word"));
}

#[test]
fn what_is_not_set_has_the_documented_default() {
    let config = parse("mcp_servers: {a: {command: x}}");
    let options = &config.servers[0].options;
    assert_eq!(options, &ServerOptions::default());
    assert_eq!((options.timeout.as_secs(), options.connect_timeout.as_secs()), (300, 60));
    assert!(config.diagnostics.is_empty());
}

#[test]
fn the_document_keeps_members_that_nobody_knows_and_number_text() {
    let config = parse("mcp_servers: {a: {command: x, args: [1.50], x_vendor: {deep: '${TOKEN}'}}}");
    assert_eq!(
        config.servers[0].entry.document.to_json(),
        r#"{"command":"x","args":[1.50],"x_vendor":{"deep":"s3cr3t"}}"#
    );
    assert_eq!(config.diagnostics.len(), 1);
    assert_eq!(config.diagnostics[0].kind, DiagnosticKind::UnknownKey);
}

#[test]
fn no_diagnostic_shows_what_a_variable_holds() {
    let config = parse(
        "mcp_servers: {a: {command: x, timeout: '${TOKEN}', trust: '${TOKEN}', transport: '${TOKEN}', protocol: '${TOKEN}', enabled: '${TOKEN}', tools: {resources: '${TOKEN}'}}, b: {url: '${TOKEN}'}}",
    );
    assert!(config.diagnostics.len() >= 6);
    assert!(!rendered(&config).contains("s3cr3t"), "{}", rendered(&config));
}

#[test]
fn unknown_keys_are_warned_of_with_what_was_probably_meant() {
    let config = parse("mcp_servers: {a: {command: x, time_out: 3}}\npolicy: {}\n");
    assert_eq!(names(&config), ["a"]);
    insta::assert_snapshot!(rendered(&config));
}

#[test]
fn configs_of_desktop_clients_are_read() {
    let text = r#"{
  "globalShortcut": "",
  "mcpServers": {
    "memory": {"command": "npx", "args": ["-y", "x"], "type": "stdio", "disabled": false},
    "remote": {"type": "http", "url": "https://example.com/mcp"}
  }
}"#;
    let config = Config::parse(text, "client.json", Origin::ClientConfig, &surroundings());
    assert_eq!(names(&config), ["memory", "remote"]);
    assert!(config.diagnostics.is_empty(), "{}", rendered(&config));
    assert_eq!(config.servers[0].entry.origin, Origin::ClientConfig);
}

#[test]
fn the_spelling_of_desktop_clients_is_taken_in_the_own_config_with_a_note() {
    let config = parse("mcpServers: {a: {command: x}}");
    assert_eq!(names(&config), ["a"]);
    assert_eq!((config.diagnostics[0].level, config.diagnostics[0].kind), (Level::Note, DiagnosticKind::Alias));
}

#[test]
fn a_server_set_under_both_spellings_is_left_out() {
    let config = parse("mcp_servers: {a: {command: x}, b: {command: y}}\nmcpServers: {a: {command: z}}");
    assert_eq!(names(&config), ["b"]);
    assert_eq!(config.left_out, ["a"]);
}

#[test]
fn a_server_set_twice_is_left_out() {
    let config = parse("mcp_servers:\n  a: {command: x}\n  b: {command: y}\n  a: {command: z}\n");
    assert_eq!(names(&config), ["b"]);
}

#[test]
fn what_a_switched_off_server_lacks_is_no_error() {
    let config = parse("mcp_servers: {a: {command: x, enabled: false, env: {T: '${NOT_SET}'}}}");
    assert!(!config.has_errors());
    assert!(!config.servers[0].options.enabled);
}

#[test]
fn a_misspelled_trust_is_the_lower_tier() {
    let config = parse("mcp_servers: {a: {command: x, trust: fulll}}");
    assert_eq!(config.servers[0].options.trust, Some(Trust::Untrusted));
    assert_eq!(config.diagnostics.len(), 1);
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
fn mistakes_in_keys_trust_nobody() {
    const KEY: &str = "RWTYckCirqnxrPly2wJM11RYLvAEHEtDJz/dsr0AsHAWhktzNzNNoCJQ";
    let config = parse(&format!(
        "policies:
  allow_unsigned: perhaps
  keys:
    - {{name: a, key: RWshort, names: [a]}}
    - {{key: {KEY}, names: [a]}}
    - {{name: b, key: {KEY}}}
    - {{name: c, key: {KEY}, names: [\"[\"]}}
    - {{name: d, key: {KEY}, names: [d], gates: [cal]}}
    - {{name: d, key: {KEY}, names: [e], may_lose: true}}
    - nonsense
"
    ));
    assert_eq!(config.policies.allow_unsigned, crate::AllowUnsigned::Nothing);
    let [only] = config.policies.keys.as_slice() else { panic!("{:?}", config.policies.keys) };
    assert_eq!(only.gates.as_deref(), Some([].as_slice()), "an unknown gate narrows the scope");
    insta::assert_snapshot!(rendered(&config));
}

#[test]
fn mistakes_in_policies_never_loosen() {
    let config = parse(
        "policies: {trust: {mode: sahdow, on_fault: alow, rights: {call: [deny]}}, config-scren: {}, alow_unsigned: true}",
    );
    let trust = config.policies.entry("trust").unwrap();
    assert_eq!((trust.mode, trust.on_fault, trust.rights), (None, None, None));
    assert_eq!(config.policies.allow_unsigned, crate::AllowUnsigned::Packs);
    insta::assert_snapshot!(rendered(&config));
}

#[test]
fn a_file_that_is_no_yaml_is_one_diagnostic_and_no_server() {
    let config = parse("mcp_servers: {a: {command: x}\n");
    assert!(config.servers.is_empty());
    assert_eq!(config.diagnostics.len(), 1);
    assert_eq!(config.diagnostics[0].kind, DiagnosticKind::Syntax);
}

#[test]
fn an_empty_config_has_nothing_to_say() {
    for text in ["", "# nothing\n", "mcp_servers:\n", "{}"] {
        let config = parse(text);
        assert!(config.servers.is_empty() && config.diagnostics.is_empty(), "{text:?}");
    }
}

#[test]
fn a_config_file_that_is_missing_is_an_error_and_one_that_is_no_text_a_diagnostic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    assert!(Config::read(&path, Origin::ConfigFile, &surroundings()).is_err());
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert!(Config::read(&path, Origin::ConfigFile, &surroundings()).unwrap().has_errors());
}

#[test]
fn wrapping_keeps_names_and_calls_the_server_after_what_is_run() {
    let arguments = ["-y".to_owned(), "@modelcontextprotocol/server-memory".to_owned()];
    let config = Config::for_wrap("npx", &arguments);
    assert_eq!(names(&config), ["server-memory"]);
    assert_eq!(config.naming, Naming::Plain);
    assert_eq!(config.servers[0].entry.origin, Origin::CommandLine);
    assert_eq!(names(&Config::for_wrap("/opt/bin/my-server", &[])), ["my-server"]);
    assert!(Config::for_wrap(" ", &[]).has_errors());
}

mod any_input;

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
  update: {from: 'oci://registry.example/acme/policies:stable', every: 90s, mode: shadow, user: me, password_file: ~/p}
";
    let config = parse(text);
    assert_eq!(config.diagnostics, []);
    let update = config.policies.update.unwrap();
    assert_eq!((update.every, update.mode), (Duration::from_secs(90), crate::UpdateMode::Shadow));
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
        ("oci://r.example/a", "a map with `from`"),
    ] {
        let config = parse(&format!("policies: {{update: {wrong}}}"));
        assert_eq!(config.policies.update, None, "{wrong}");
        assert!(rendered(&config).contains(reason), "{wrong}: {}", rendered(&config));
    }
}

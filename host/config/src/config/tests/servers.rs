//! Entries of servers.

use std::time::Duration;

use portcullis_model::Trust;

use super::*;
use crate::{Authentication, Protocol, TlsVerification};

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
fn wrapping_keeps_names_and_calls_the_server_after_what_is_run() {
    let arguments = ["-y".to_owned(), "@modelcontextprotocol/server-memory".to_owned()];
    let config = Config::for_wrap("npx", &arguments);
    assert_eq!(names(&config), ["server-memory"]);
    assert_eq!(config.naming, Naming::Plain);
    assert_eq!(config.servers[0].entry.origin, Origin::CommandLine);
    assert_eq!(names(&Config::for_wrap("/opt/bin/my-server", &[])), ["my-server"]);
    assert!(Config::for_wrap(" ", &[]).has_errors());
}

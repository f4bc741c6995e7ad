use super::*;

mod any_input;
mod grants;
mod sandbox;
mod sections;
mod servers;

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

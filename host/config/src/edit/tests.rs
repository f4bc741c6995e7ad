use portcullis_model::object;

use super::*;

const COMMENTED: &str = "\
# My servers.
mcp_servers:
  # Reads files.
  files:   # mine
    command: npx
    args: [-y, server-files]   # pinned elsewhere

  # Knows the weather.
  weather:
    url: \"https://weather.example/mcp\"
    note: |
      several
      lines

# Who judges.
policies:
  allow_unsigned: true
";

fn entry() -> Value {
    object! {
        "command" => "npx",
        "args" => vec![Value::from("-y"), "@scope/server@1.2.3".into()],
        "env" => object! { "TOKEN" => "${TOKEN}" },
    }
    .into()
}

fn edited(text: &str, change: impl FnOnce(&mut ConfigText) -> Result<(), EditError>) -> String {
    let mut config = ConfigText::parse(text).unwrap();
    change(&mut config).unwrap();
    config.as_str().to_owned()
}

#[test]
fn a_server_is_added_behind_the_others_and_all_comments_stay() {
    let text = edited(COMMENTED, |config| config.add_server("new", &entry(), false));
    let added = "      lines\n  new:\n    command: npx\n    args: [\"-y\", \"@scope/server@1.2.3\"]\n    env:\n      TOKEN: \"${TOKEN}\"\n";
    assert_eq!(text, COMMENTED.replace("      lines\n", added));
}

#[test]
fn what_was_added_can_be_removed_and_the_file_is_as_it_was() {
    let flow = "mcp_servers: {a: {command: x}, b: {command: y}}\n";
    let json = "{\n    \"mcpServers\": {\n        \"a\": {\n            \"command\": \"x\"\n        }\n    },\n    \"z\": 1\n}\n";
    let windows = "mcp_servers:\r\n  a:\r\n    command: x\r\nnaming: plain\r\n";
    let no_line_break = "mcp_servers:\n  a: {command: x}";
    for text in [COMMENTED, flow, json, windows, no_line_break] {
        let added = edited(text, |config| config.add_server("new", &entry(), false));
        let mut config = ConfigText::parse(added.clone()).unwrap();
        assert_eq!(config.server("new"), Some(entry()), "{added}");
        assert_eq!(text.contains('\r'), added.contains('\r'));
        assert_eq!(
            added.matches('\n').count(),
            added.matches("\r\n").count().max(added.replace("\r\n", "\n").matches('\n').count())
        );
        config.remove_server("new").unwrap();
        assert_eq!(config.as_str(), text);
    }
}

#[test]
fn json_stays_json() {
    for text in ["{}", "{\"mcpServers\": {}}", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}"] {
        let added = edited(text, |config| config.add_server("new", &entry(), false));
        let value = portcullis_model::json::parse_str(&added);
        assert!(value.is_ok(), "{added}");
    }
}

#[test]
fn a_file_without_servers_gets_them() {
    let expected = "mcp_servers:\n  new:\n    command: x\n";
    let small = object! { "command" => "x" }.into();
    let add = |text: &str| edited(text, |config| config.add_server("new", &small, false));
    assert_eq!(add(""), expected);
    assert_eq!(add("mcp_servers:\n"), expected);
    assert_eq!(add("mcp_servers: {}\n"), expected);
    assert_eq!(add("mcp_servers:   # none yet\n"), "mcp_servers:\n  new:\n    command: x   # none yet\n");
    assert_eq!(add("# only a comment\n"), format!("# only a comment\n{expected}"));
    assert_eq!(add("naming: plain\n"), format!("naming: plain\n{expected}"));
    assert_eq!(add("mcp_servers:\nnaming: plain\n"), format!("{expected}naming: plain\n"));
}

#[test]
fn a_server_is_removed_with_its_lines_alone() {
    let text = edited(COMMENTED, |config| config.remove_server("files"));
    let removed = "  files:   # mine\n    command: npx\n    args: [-y, server-files]   # pinned elsewhere\n";
    assert_eq!(text, COMMENTED.replace(removed, ""));
    let last =
        edited("mcp_servers:\n  # none\n  a:\n    command: x\nnaming: plain\n", |config| config.remove_server("a"));
    assert_eq!(last, "mcp_servers: {}\n  # none\nnaming: plain\n");
    assert_eq!(edited("mcp_servers: {a: {command: x}, }", |config| config.remove_server("a")), "mcp_servers: { }");
}

#[test]
fn a_server_is_switched_off_and_on() {
    let off = edited(COMMENTED, |config| config.switch_server("files", false).map(|changed| assert!(changed)));
    let line = "    args: [-y, server-files]   # pinned elsewhere\n";
    assert_eq!(off, COMMENTED.replace(line, &format!("{line}    enabled: false\n")));
    let on = edited(&off, |config| config.switch_server("files", true).map(|changed| assert!(changed)));
    assert_eq!(on, off.replace("enabled: false", "enabled: true"));
    let same = edited(&on, |config| config.switch_server("files", true).map(|changed| assert!(!changed)));
    assert_eq!(same, on);
    let foreign = edited("servers: {a: {command: x, disabled: true}}", |config| {
        config.switch_server("a", true).map(|changed| assert!(changed))
    });
    assert_eq!(foreign, "servers: {a: {command: x}}");
}

#[test]
fn the_choice_of_tools_leaves_the_rest_of_the_block() {
    let text =
        "mcp_servers:\n  a:\n    command: x\n    tools:\n      exclude: [w]  # not these\n      prompts: false\n";
    let names = ["r".to_owned(), "s".to_owned()];
    let included = edited(text, |config| config.filter_tools("a", Some(&names), None));
    assert_eq!(
        included,
        "mcp_servers:\n  a:\n    command: x\n    tools:\n      prompts: false\n      include: [r, s]\n"
    );
    let all = edited(&included, |config| config.filter_tools("a", None, None));
    assert_eq!(all, "mcp_servers:\n  a:\n    command: x\n    tools:\n      prompts: false\n");
    let shorthand = edited("mcp_servers:\n  a:\n    tools: [w]\n    command: x\n", |config| {
        config.filter_tools("a", None, Some(&names))
    });
    assert_eq!(shorthand, "mcp_servers:\n  a:\n    command: x\n    tools:\n      exclude: [r, s]\n");
}

#[test]
fn long_lists_stand_on_lines_of_their_own() {
    let names: Vec<String> = (0..20).map(|number| format!("a_tool_with_number_{number}")).collect();
    let text = edited("mcp_servers:\n  a:\n    command: x\n", |config| config.filter_tools("a", Some(&names), None));
    assert!(
        text.contains("      include:\n        - a_tool_with_number_0\n        - a_tool_with_number_1\n"),
        "{text}"
    );
}

#[test]
fn what_others_share_is_not_changed() {
    let shared = "base: &base {command: x, enabled: true}\nmcp_servers:\n  a: *base\n  b:\n    <<: *base\n    timeout: 3\n  c: &c\n    command: y\n  d: *c\n";
    let mut config = ConfigText::parse(shared).unwrap();
    assert_eq!(config.switch_server("a", false), Err(EditError::Entangled("mcp_servers.a.enabled".to_owned())));
    assert_eq!(config.remove_server("c"), Err(EditError::Entangled("mcp_servers.c".to_owned())));
    assert_eq!(
        config.remove(&["mcp_servers", "b", "command"]),
        Err(EditError::Entangled("mcp_servers.b.command".to_owned()))
    );
    assert_eq!(config.as_str(), shared);
    // What only uses what is shared can go.
    config.remove_server("a").unwrap();
    assert_eq!(config.as_str(), shared.replace("  a: *base\n", ""));
}

#[test]
fn a_change_that_is_not_clear_is_refused_with_its_reason() {
    assert!(matches!(ConfigText::parse("a: [1"), Err(EditError::Unreadable { .. })));
    assert!(matches!(ConfigText::parse("a: 1\na: 2\n"), Err(EditError::Unreadable { line: 2, .. })));
    let mut config = ConfigText::parse("mcp_servers: 3\n").unwrap();
    assert!(matches!(config.add_server("a", &entry(), false), Err(EditError::Entangled(_))));
    let mut config = ConfigText::parse(COMMENTED).unwrap();
    assert_eq!(config.add_server("files", &entry(), false), Err(EditError::Present("files".to_owned())));
    assert_eq!(config.remove_server("nobody"), Err(EditError::Missing("nobody".to_owned())));
    config.add_server("files", &entry(), true).unwrap();
    assert_eq!(config.server("files"), Some(entry()));
    assert!(config.as_str().contains("# Reads files.") && config.as_str().contains("# Knows the weather."));
}

proptest::proptest! {
    /// Whatever a name and its values are, they are read as they were written, or refused.
    #[test]
    fn names_and_values_are_written_as_they_are_read(name in "\\PC{1,12}", value in "\\PC{0,20}|[\\x00-\\x7f]{0,8}") {
        let entry: Value = object! { "command" => value.as_str(), "env" => object! { value.as_str() => name.as_str() } }.into();
        let mut config = ConfigText::parse(COMMENTED).unwrap();
        if name != "<<" && config.add_server(&name, &entry, true).is_ok() {
            proptest::prop_assert_eq!(config.server(&name), Some(entry));
            proptest::prop_assert!(config.as_str().contains("# Who judges."));
        } else {
            proptest::prop_assert_eq!(config.as_str(), COMMENTED);
        }
    }
}

use std::path::{Path, PathBuf};

use portcullis_model::json::Object;
use portcullis_model::object;

use super::*;

fn entry_of(client: Client, text: &str) -> FoundEntry {
    let text = ClientText::parse(client.format(), text).unwrap();
    let mut entries = client.entries(&text.to_value());
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

#[test]
fn keys_of_each_client_become_ours() {
    let ours = |client: Client, text: &str| entry_of(client, text).entry.unwrap().to_json();
    assert_eq!(
        ours(
            Client::Codex,
            "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"A_TOKEN\"\ntool_timeout_sec = 7\nenabled_tools = [\"x\"]\nenv_http_headers = { X-Team = \"TEAM\" }\n"
        ),
        "{\"url\":\"https://a.example/mcp\",\"headers\":{\"X-Team\":\"${TEAM}\",\"Authorization\":\"Bearer ${A_TOKEN}\"},\
         \"tools\":{\"include\":[\"x\"]},\"timeout\":7}"
    );
    assert_eq!(
        ours(
            Client::Gemini,
            "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"K\": \"$KEY\", \"P\": \"a$\"}, \"timeout\": 2500, \"excludeTools\": [\"w\"]}}}"
        ),
        "{\"command\":\"x\",\"env\":{\"K\":\"${KEY}\",\"P\":\"a$\"},\"tools\":{\"exclude\":[\"w\"]},\"timeout\":3}"
    );
    assert_eq!(
        ours(Client::Gemini, "{\"mcpServers\": {\"a\": {\"url\": \"https://a.example/sse\"}}}"),
        "{\"url\":\"https://a.example/sse\",\"transport\":\"sse\"}"
    );
    assert_eq!(
        ours(
            Client::Goose,
            "extensions:\n  a:\n    type: stdio\n    cmd: uvx\n    args: [a]\n    env_keys: [A_KEY]\n    enabled: false\n"
        ),
        "{\"args\":[\"a\"],\"command\":\"uvx\",\"env\":{\"A_KEY\":\"${A_KEY}\"},\"enabled\":false}"
    );
    assert_eq!(
        ours(
            Client::VsCode,
            "{ // mine\n \"servers\": {\"a\": {\"type\": \"http\", \"url\": \"https://a.example\", \"headers\": {\"K\": \"${input:api-key}\"},},}}"
        ),
        "{\"headers\":{\"K\":\"${PORTCULLIS_A_API_KEY}\"},\"url\":\"https://a.example\"}"
    );
    assert_eq!(
        ours(Client::Windsurf, "{\"mcpServers\": {\"a\": {\"serverUrl\": \"https://a.example/mcp\"}}}"),
        "{\"url\":\"https://a.example/mcp\"}"
    );
}

#[test]
fn what_is_left_out_is_told() {
    let text =
        "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"autoApprove\": [\"y\"], \"envFile\": \".env\", \"odd\": 1}}}";
    let notes = entry_of(Client::Cursor, text).notes.join("\n");
    for key in ["`autoApprove`", "`envFile`", "`odd`"] {
        assert!(notes.contains(key), "{notes}");
    }
}

#[test]
fn entries_without_a_server_say_why() {
    let why = |client: Client, text: &str| entry_of(client, text).entry.unwrap_err();
    assert_eq!(why(Client::Goose, "extensions: {developer: {type: builtin}}"), Foreign::Part("builtin".to_owned()));
    assert_eq!(why(Client::Cursor, "{\"mcpServers\": {\"a\": []}}"), Foreign::NoMap);
    assert_eq!(why(Client::Cursor, "{\"mcpServers\": {\"a\": {}}}"), Foreign::Nothing);
}

#[test]
fn servers_of_projects_are_found_with_their_project() {
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"projects\": {\"/p\": {\"mcpServers\": {\"b\": {\"command\": \"y\"}}}}}";
    let text = ClientText::parse(FileFormat::Json, text).unwrap();
    let entries = Client::ClaudeCode.entries(&text.to_value());
    let names: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.scope.as_deref())).collect();
    assert_eq!(names, [("a", None), ("b", Some("/p"))]);
}

#[test]
fn one_entry_is_put_into_a_config_and_everything_else_stays_as_it_is_written() {
    let entry: Value = object! { "command" => "/bin/portcullis", "args" => vec![Value::from("run")] }.into();
    let cases = [
        (
            FileFormat::Json,
            "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }, // keep\n  },\n  \"z\": 1.50\n}\n",
            "mcpServers",
        ),
        (FileFormat::Json, "{\"z\":1}", "mcpServers"),
        (FileFormat::Json, "", "mcpServers"),
        (FileFormat::Json, "{\n\t\"mcpServers\": {}\n}\n", "mcpServers"),
        (FileFormat::Toml, "# mine\nmodel = \"o\"\n\n[mcp_servers.a]\ncommand = \"x\" # keep\n", "mcp_servers"),
        (FileFormat::Toml, "", "mcp_servers"),
        (FileFormat::Yaml, "# mine\nextensions:\n  a: {cmd: x}  # keep\nGOOSE_MODEL: m\n", "extensions"),
    ];
    for (format, text, section) in cases {
        let mut config = ClientText::parse(format, text).unwrap();
        config.put(section, "portcullis", Some(&entry)).unwrap_or_else(|error| panic!("{error}: {text}"));
        let changed = config.as_str().to_owned();
        assert_eq!(
            config.to_value().get(section).and_then(|servers| servers.get("portcullis")),
            Some(&entry),
            "{changed}"
        );
        for kept in ["mine", "keep", "1.50"] {
            assert_eq!(changed.contains(kept), text.contains(kept), "{changed}");
        }
        config.put(section, "portcullis", None).unwrap();
        let had = ClientText::parse(format, text).unwrap().to_value();
        let servers = |value: &Value| value.get(section).cloned().unwrap_or_else(|| Object::new().into());
        assert_eq!(servers(&config.to_value()), servers(&had), "{}", config.as_str());
    }
}

#[test]
fn a_file_that_is_not_of_its_format_says_where_and_shows_nothing_of_it() {
    let secret = "hunter2";
    for (format, text) in [
        (FileFormat::Json, format!("{{\"a\": \"{secret}\", \n oops: {secret}}}")),
        (FileFormat::Json, format!("{{\"a\": \"{secret}\", \"a\": 1}}")),
        (FileFormat::Json, format!("[\"{secret}\"]")),
        (FileFormat::Json, "[".repeat(100_000)),
        (FileFormat::Toml, format!("a = \"{secret}\"\nb = {secret}\n")),
        (FileFormat::Yaml, format!("a: \"{secret}\n")),
    ] {
        let error = ClientText::parse(format, text).unwrap_err().to_string();
        assert!(!error.contains(secret) && error.starts_with("it can't be read: "), "{error}");
    }
}

#[test]
fn places_are_those_of_the_system() {
    let none = |_: &str| None;
    let places = |system| Places::new(system, "/home/u", "/srv/p", none);
    let own = |system, client| places(system).of(client).remove(0).path;
    assert_eq!(
        own(System::Linux, Client::ClaudeDesktop),
        Path::new("/home/u/.config/Claude/claude_desktop_config.json")
    );
    assert_eq!(
        own(System::MacOs, Client::ClaudeDesktop),
        Path::new("/home/u/Library/Application Support/Claude/claude_desktop_config.json")
    );
    assert_eq!(
        own(System::Windows, Client::ClaudeDesktop),
        Path::new("/home/u/AppData/Roaming/Claude/claude_desktop_config.json")
    );
    assert_eq!(own(System::MacOs, Client::VsCode), Path::new("/home/u/Library/Application Support/Code/User/mcp.json"));
    assert_eq!(
        own(System::Windows, Client::Goose),
        Path::new("/home/u/AppData/Roaming/Block/goose/config/config.yaml")
    );
    let moved = Places::new(System::Linux, "/home/u", "/srv/p", |name| {
        (name == "CODEX_HOME").then(|| PathBuf::from("/opt/codex"))
    });
    assert_eq!(moved.of(Client::Codex).remove(0).path, Path::new("/opt/codex/config.toml"));
    assert!(
        places(System::Linux).all().iter().any(|place| place.of_project && place.path == Path::new("/srv/p/.mcp.json"))
    );
    for client in Client::ALL {
        assert_eq!(Client::parse(client.as_str()), Some(client));
        for place in places(System::Linux).of(client).into_iter().filter(|place| !place.of_project) {
            assert_eq!(Client::of_file(&place.path), client, "{}", place.path.display());
        }
    }
}

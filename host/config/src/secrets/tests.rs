use portcullis_model::object;

use super::*;

/// A token in the form of a well-known service's, put together here so that no scanner finds one in the file.
fn token() -> String {
    format!("{}{}", "gh", "p_0123456789abcdefghij0123456789abcdef")
}

#[test]
fn secrets_are_replaced_wherever_they_stand() {
    let token = token();
    let mut entry: Value = object! {
        "command" => "npx",
        "args" => vec![
            Value::from("-y"), "pkg@1.2.3".into(), "--api-key".into(), "k1".into(), "--token=k2".into(),
            token.as_str().into(), "--header".into(), "Authorization: Bearer k3".into(), "--port".into(), "3000".into(),
        ],
        "env" => object! {
            "GITHUB_TOKEN" => token.as_str(), "DEBUG" => "1", "LOG" => token.as_str(), "OPEN_AI_KEY" => "${OPEN_AI_KEY}",
            "PATHS" => "/home/u/a:/home/u/b", "DATABASE_URL" => "postgres://u:hunter2@db/x",
        },
        "headers" => object! { "Authorization" => "Bearer k4", "X-Api-Key" => "k5", "Accept" => "application/json" },
        "url" => "https://mcp.example/mcp?apiKey=k6&team=core",
    }
    .into();
    let concealed = conceal("git-hub", &mut entry);
    let shown = entry.to_json();
    for secret in [token.as_str(), "k1", "k2", "k3", "k4", "k5", "k6", "hunter2"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
        assert!(concealed.iter().any(|found| found.value.expose().contains(secret)), "{secret}");
    }
    assert_eq!(
        shown,
        "{\"command\":\"npx\",\"args\":[\"-y\",\"pkg@1.2.3\",\"--api-key\",\"${PORTCULLIS_GIT_HUB_API_KEY}\",\
         \"--token=${PORTCULLIS_GIT_HUB_TOKEN}\",\"${PORTCULLIS_GIT_HUB_ARGUMENT_5}\",\"--header\",\
         \"Authorization: Bearer ${PORTCULLIS_GIT_HUB_AUTHORIZATION_2}\",\"--port\",\"3000\"],\
         \"env\":{\"GITHUB_TOKEN\":\"${PORTCULLIS_GIT_HUB_GITHUB_TOKEN}\",\"DEBUG\":\"1\",\
         \"LOG\":\"${PORTCULLIS_GIT_HUB_LOG}\",\"OPEN_AI_KEY\":\"${OPEN_AI_KEY}\",\"PATHS\":\"/home/u/a:/home/u/b\",\
         \"DATABASE_URL\":\"${PORTCULLIS_GIT_HUB_DATABASE_URL}\"},\
         \"headers\":{\"Authorization\":\"Bearer ${PORTCULLIS_GIT_HUB_AUTHORIZATION}\",\
         \"X-Api-Key\":\"${PORTCULLIS_GIT_HUB_X_API_KEY}\",\"Accept\":\"application/json\"},\
         \"url\":\"https://mcp.example/mcp?apiKey=${PORTCULLIS_GIT_HUB_APIKEY}&team=core\"}"
    );
    assert_eq!(conceal("git-hub", &mut entry), [], "references stay as they are");
}

#[test]
fn what_is_no_secret_stays_as_it_is_written() {
    let mut entry: Value = object! {
        "command" => "uvx",
        "args" => vec![
            Value::from("mcp-server-git"), "--repository".into(), "/srv/some-repository-with-a-long-name-2024-11-05".into(),
            "@modelcontextprotocol/server-sequential-thinking@2025.12.18".into(), "--keyboard".into(), "us".into(),
            "claude-sonnet-4-5-20250929-thinking-extended".into(), "https://example.com/a?page=2".into(),
        ],
        "env" => object! { "MONKEY" => "banana", "AUTHOR" => "Ada", "NODE_ENV" => "production", "PATTERN" => "*.rs" },
        "url" => "https://example.com/mcp",
    }
    .into();
    let before = entry.clone();
    assert_eq!(conceal("git", &mut entry), []);
    assert_eq!(entry, before);
}

#[test]
fn the_names_of_variables_tell_servers_and_secrets_apart() {
    let mut entry: Value =
        object! { "command" => "x", "env" => object! { "A_TOKEN" => "one", "a-token" => "two" } }.into();
    let names: Vec<String> = conceal("a", &mut entry).into_iter().map(|found| found.variable).collect();
    assert_eq!(names, ["PORTCULLIS_A_TOKEN", "PORTCULLIS_A_TOKEN_2"]);
}

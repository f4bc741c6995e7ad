use portcullis_model::ServerName;
use portcullis_model::json::parse_str;

use super::*;

fn json(text: &str) -> Value {
    parse_str(text).unwrap()
}

fn under(kind: &str, told: &str) -> Object {
    object! { kind => json(told) }
}

fn request(kind: RequestKind, document: &str) -> ServerRequest {
    ServerRequest { server: ServerName::parse("files").unwrap(), kind, document: json(document) }
}

#[test]
fn a_sampling_request_is_told_with_tokens_models_and_tools() {
    let params = json(r#"{"maxTokens":9000,"modelPreferences":{"hints":[{"name":"a"},{}]},"tools":[{"name":"t"}]}"#);
    let expected = Sampling { max_tokens: Some(9_000), models: vec!["a".to_owned()], tools: true };
    assert_eq!(request_kind(ServerMethod::CreateMessage, &params), Some(RequestKind::Sampling(expected)));
}

#[test]
fn an_elicitation_is_a_form_unless_it_says_url() {
    let params = json(
        r#"{"message":"m","requestedSchema":{"properties":{"key":{"type":"string","title":"API key"}},"required":["key"]}}"#,
    );
    let Some(RequestKind::ElicitationForm(fields)) = request_kind(ServerMethod::Elicit, &params) else {
        panic!("a form");
    };
    assert_eq!((fields[0].name.as_str(), fields[0].title.as_str(), fields[0].required), ("key", "API key", true));
    let url = json(r#"{"mode":"url","url":"https://example.org","message":"m"}"#);
    assert_eq!(
        request_kind(ServerMethod::Elicit, &url),
        Some(RequestKind::ElicitationUrl("https://example.org".to_owned()))
    );
}

#[test]
fn limits_only_lower_the_tokens_and_leave_the_rest_as_it_was() {
    let document = r#"{"maxTokens":9000,"x-vendor":1.50}"#;
    let sampling = |tokens| RequestKind::Sampling(Sampling { max_tokens: Some(tokens), ..Sampling::default() });
    let lowered = envelope(&request(sampling(9_000), document), &under("sampling", r#"{"max_tokens":4096}"#));
    assert_eq!(lowered.to_json(), r#"{"maxTokens":4096,"x-vendor":1.50}"#);
    let kept = envelope(&request(sampling(9_000), document), &under("sampling", r#"{"max_tokens":10000}"#));
    assert_eq!(kept.to_json(), document);
}

#[test]
fn models_that_a_policy_chose_take_the_place_of_the_servers_wishes() {
    let document = r#"{"modelPreferences":{"hints":[{"name":"dear"}],"costPriority":0.50}}"#;
    let kind = || RequestKind::Sampling(Sampling::default());
    let limits = under("sampling", r#"{"models":["cheap"]}"#);
    let sent = envelope(&request(kind(), document), &limits);
    assert_eq!(sent.to_json(), r#"{"modelPreferences":{"hints":[{"name":"cheap"}],"costPriority":0.50}}"#);
    let sent = envelope(&request(kind(), "{}"), &limits);
    assert_eq!(sent.to_json(), r#"{"modelPreferences":{"hints":[{"name":"cheap"}]}}"#);
}

#[test]
fn a_form_of_a_server_begins_with_its_name() {
    let sent =
        envelope(&request(RequestKind::ElicitationForm(Vec::new()), r#"{"message":"Your key?"}"#), &Object::new());
    assert_eq!(sent.to_json(), r#"{"message":"The server `files` asks: Your key?"}"#);
}

#[test]
fn an_acceptance_without_a_required_field_is_no_answer() {
    let params = json(
        r#"{"requestedSchema":{"properties":{"n":{"type":"integer"},"c":{"type":"string","enum":["a"]}},"required":["n"]}}"#,
    );
    let check = |text: &str| check_elicitation(&params, json(text));
    assert!(check(r#"{"action":"accept","content":{"n":1,"c":"a"}}"#).is_ok());
    assert!(check(r#"{"action":"decline"}"#).is_ok());
    assert!(check(r#"{"action":"accept"}"#).is_err());
    assert!(check(r#"{"action":"accept","content":{}}"#).is_err());
    assert!(check(r#"{"action":"accept","content":{"n":"1"}}"#).is_err());
    assert!(check(r#"{"action":"accept","content":{"n":1,"c":"b"}}"#).is_err());
}

#[test]
fn rounds_count_answers_that_use_tools_and_start_over_with_any_other() {
    let rounds = AtomicU32::new(0);
    count_rounds(&rounds, Some(&json(r#"{"stopReason":"toolUse"}"#)));
    count_rounds(&rounds, Some(&json(r#"{"stopReason":"toolUse"}"#)));
    assert_eq!(rounds.load(Ordering::Relaxed), 2);
    count_rounds(&rounds, Some(&json(r#"{"stopReason":"endTurn"}"#)));
    assert_eq!(rounds.load(Ordering::Relaxed), 0);
}

#[test]
fn the_shortest_limit_of_config_and_policy_holds() {
    let options = ServerOptions { sampling: json(r#"{"timeout":20}"#), ..ServerOptions::default() };
    let request = request(RequestKind::Sampling(Sampling::default()), "{}");
    let longest = Duration::from_secs(30);
    assert_eq!(limit(&Object::new(), &options, &request, longest), Duration::from_secs(20));
    assert_eq!(
        limit(&under("sampling", r#"{"timeout_ms":5000}"#), &options, &request, longest),
        Duration::from_secs(5)
    );
    assert_eq!(
        limit(&under("sampling", r#"{"timeout_ms":500000}"#), &options, &request, longest),
        Duration::from_secs(20)
    );
}

#[test]
fn the_config_can_switch_sampling_and_elicitation_off() {
    let options = ServerOptions { sampling: json(r#"{"enabled":false}"#), ..ServerOptions::default() };
    assert!(!is_enabled(&options, ServerMethod::CreateMessage));
    assert!(is_enabled(&options, ServerMethod::Elicit) && is_enabled(&options, ServerMethod::ListRoots));
}

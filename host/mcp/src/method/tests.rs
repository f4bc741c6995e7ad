use portcullis_model::CallKind;
use portcullis_model::json::parse_str;

use super::*;

#[test]
fn everything_that_reaches_a_server_goes_through_the_call_gate() {
    let calls = [
        ("tools/call", CallKind::Tool, Verb::Plain),
        ("prompts/get", CallKind::Prompt, Verb::Plain),
        ("resources/read", CallKind::Resource, Verb::Plain),
        ("resources/subscribe", CallKind::Resource, Verb::Subscribe),
        ("resources/unsubscribe", CallKind::Resource, Verb::Unsubscribe),
        ("completion/complete", CallKind::Completion, Verb::Plain),
    ];
    for (name, kind, verb) in calls {
        assert_eq!(ClientMethod::parse(name).treatment(), Treatment::Call(kind, verb), "{name}");
    }
}

#[test]
fn a_method_that_nobody_knows_is_refused() {
    for name in ["", "tools/Call", "tools/call ", "vendor/thing", "tasks/run", "server/discover", "notifications/x"] {
        assert_eq!(ClientMethod::parse(name).treatment(), Treatment::Refuse, "{name}");
    }
    assert_eq!(ServerMethod::parse("tools/list"), ServerMethod::Unknown);
    assert_eq!(ClientNotification::parse("notifications/whatever"), ClientNotification::Unknown);
    assert_eq!(ServerNotification::parse("notifications/whatever"), ServerNotification::Unknown);
}

#[test]
fn what_a_server_asks_of_the_client_needs_a_capability_of_the_client() {
    for name in ["sampling/createMessage", "elicitation/create", "roots/list"] {
        assert!(ServerMethod::parse(name).capability().is_some(), "{name}");
    }
    assert_eq!(ServerMethod::parse("ping").capability(), None);
}

#[test]
fn a_request_needs_the_very_part_of_a_capability_that_it_uses() {
    let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    let url = r#"{"mode":"url","url":"https://example.org/","message":"m"}"#;
    for (method, params, declared, lacking) in [
        ("roots/list", "{}", r#"{"roots":{}}"#, None),
        ("roots/list", "{}", r#"{"roots":null}"#, Some("roots")),
        ("roots/list", "{}", r#"{"roots":true}"#, Some("roots")),
        ("elicitation/create", form, "{}", Some("elicitation")),
        ("elicitation/create", form, r#"{"elicitation":{}}"#, None),
        ("elicitation/create", form, r#"{"elicitation":{"form":{}}}"#, None),
        ("elicitation/create", form, r#"{"elicitation":{"url":{}}}"#, Some("elicitation.form")),
        ("elicitation/create", url, r#"{"elicitation":{"url":{}}}"#, None),
        ("elicitation/create", url, r#"{"elicitation":{}}"#, Some("elicitation.url")),
        ("elicitation/create", url, r#"{"elicitation":{"form":{},"url":null}}"#, Some("elicitation.url")),
        ("sampling/createMessage", r#"{"includeContext":"none"}"#, r#"{"sampling":{}}"#, None),
        (
            "sampling/createMessage",
            r#"{"includeContext":"thisServer"}"#,
            r#"{"sampling":{}}"#,
            Some("sampling.context"),
        ),
        ("sampling/createMessage", r#"{"includeContext":"allServers"}"#, r#"{"sampling":{"context":{}}}"#, None),
        ("sampling/createMessage", r#"{"tools":[]}"#, r#"{"sampling":{"context":{}}}"#, Some("sampling.tools")),
        ("sampling/createMessage", r#"{"toolChoice":{"mode":"none"}}"#, r#"{"sampling":{}}"#, Some("sampling.tools")),
        ("sampling/createMessage", r#"{"tools":[{}]}"#, r#"{"sampling":{"tools":{}}}"#, None),
        ("sampling/createMessage", r#"{"tools":null}"#, r#"{"sampling":{}}"#, None),
    ] {
        let (params, declared) = (parse_str(params).unwrap(), parse_str(declared).unwrap());
        assert_eq!(ServerMethod::parse(method).lacks(&declared, &params), lacking, "{method} {params:?} {declared:?}");
    }
}

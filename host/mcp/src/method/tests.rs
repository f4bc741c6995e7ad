use portcullis_model::CallKind;

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
    for name in ["", "tools/Call", "tools/call ", "vendor/thing", "tasks/get", "server/discover", "notifications/x"] {
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

use portcullis_model::CallKind;

use super::*;

#[test]
fn everything_that_reaches_a_server_goes_through_the_call_gate() {
    let calls = [
        ("tools/call", CallKind::Tool),
        ("prompts/get", CallKind::Prompt),
        ("resources/read", CallKind::Resource),
        ("resources/subscribe", CallKind::Resource),
        ("resources/unsubscribe", CallKind::Resource),
        ("completion/complete", CallKind::Completion),
    ];
    for (name, kind) in calls {
        assert_eq!(ClientMethod::parse(name).treatment(), Treatment::Call(kind), "{name}");
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

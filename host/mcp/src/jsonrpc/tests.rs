use portcullis_model::json::{ParseErrorKind, Value, parse_str};
use portcullis_model::object;

use super::*;

fn response(text: &str) -> Response {
    let incoming = read(text.as_bytes());
    let Incoming::Message(Message::Response(response)) = incoming else {
        panic!("no response: {incoming:?}");
    };
    response
}

fn malformed(text: &[u8]) -> Malformed {
    let incoming = read(text);
    let Incoming::Malformed(malformed) = incoming else {
        panic!("not malformed: {incoming:?}");
    };
    malformed
}

#[test]
fn a_request_a_notification_and_a_response_are_told_apart() {
    assert!(matches!(
        read(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
        Incoming::Message(Message::Request(Request { id: Id::String(id), method, params: None })) if id == "a" && method == "ping"
    ));
    assert!(matches!(
        read(br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#),
        Incoming::Message(Message::Notification(Notification { params: Some(_), .. }))
    ));
    assert_eq!(response(r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}"#).outcome.unwrap().to_json(), r#"{"n":1.0}"#);
}

#[test]
fn known_deviations_of_peers_are_accepted() {
    assert!(response(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#).outcome.is_ok());
    assert!(response(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"x"}}"#).outcome.is_err());
    assert!(response(r#"{"id":1,"result":{}}"#).outcome.is_ok());
    assert_eq!(response(r#"{"jsonrpc":"2.0","id":"12","result":{}}"#).id.as_counter(), Some(12));
    assert_eq!(response(r#"{"jsonrpc":"2.0","id":12.0,"result":{}}"#).id.as_counter(), Some(12));
    let error = response(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000.0}}"#).outcome.unwrap_err();
    assert_eq!((error.code(), error.message()), (-32000, ""));
    assert!(matches!(
        read(br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#),
        Incoming::Message(Message::Notification(Notification { params: None, .. }))
    ));
}

#[test]
fn ids_match_across_number_and_string_but_stay_distinct() {
    let (number, text) = (Id::from(7), Id::String("7".to_owned()));
    assert!(number.matches(&text) && text.matches(&number));
    assert_ne!(number, text);
    assert!(!number.matches(&Id::String("+7".to_owned())));
    assert!(!Id::String("x".to_owned()).matches(&Id::String("y".to_owned())));
    assert_eq!(Id::String("-7".to_owned()).as_counter(), None);
    assert_eq!(Id::String(String::new()).as_counter(), None);
}

#[test]
fn json_that_is_no_message_is_noise() {
    for text in [
        "hello not json",
        "",
        "[1,2]",
        "[]",
        "17",
        "null",
        r#"{"level":"info","msg":"pino"}"#,
        r#"{"level":30,"id":5,"msg":"with an id"}"#,
        r#"{"id":5,"method":"GET","url":"/x"}"#,
        r#"{"error":"boom","time":1}"#,
        "\u{1b}[32mcolor\u{1b}[0m",
        "{ not json at all",
        r#"[{"level":1}]"#,
    ] {
        assert_eq!(read(text.as_bytes()), Incoming::Noise, "{text}");
    }
}

#[test]
fn a_malformed_response_still_names_its_request() {
    for text in [
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32000.5,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":"text"}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":1,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"a":"\ud800"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"a":"#,
        r#"{"result":{"id":9,"x":[{"id":8}]},"jsonrpc":"2.0","id":3,"id":3}"#,
        r#"{"result":NaN, "\u0069d" : 3 }"#,
        r#"{"result":"\"id\":4,","id":3,x"#,
    ] {
        let found = malformed(text.as_bytes());
        assert_eq!(found.id, Some(Id::from(3)), "{text}");
        assert_eq!(found.side, Side::Response, "{text}");
    }
    let found = malformed(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\xff\xfe\"}");
    assert_eq!(found.id, Some(Id::from(3)));
    assert!(matches!(found.reason, MalformedReason::Text(error) if error.kind == ParseErrorKind::InvalidUtf8));
    assert_eq!(malformed(br#"{"jsonrpc":"2.0","id":3}"#).side, Side::Unknown);
}

#[test]
fn a_nested_id_is_never_taken_for_the_messages() {
    assert_eq!(malformed(br#"{"result":1,"id":3"x"}"#).id, None);
    let deep = format!(r#"{{"jsonrpc":"2.0","result":{}"id":1{}}}"#, r#"{"a":"#.repeat(80), "}".repeat(80));
    assert_eq!(malformed(deep.as_bytes()).id, None);
    assert_eq!(malformed(br#"{"result":[{"id":1}],"x":"id","error":"id","id":{"id":2}"#).id, None);
}

#[test]
fn a_malformed_request_is_told_from_a_malformed_response() {
    assert_eq!(malformed(br#"{"jsonrpc":"2.0","id":"r","method":"x","params":{"a":1,"a":2}}"#).side, Side::Request);
    assert_eq!(malformed(br#"{"jsonrpc":"2.0","id":"r","method":5}"#).id, Some(Id::String("r".to_owned())));
    assert_eq!(malformed(br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).id, None);
    assert_eq!(malformed(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#).side, Side::Request);
}

#[test]
fn an_id_is_recovered_from_pieces_of_any_size() {
    let text = format!(r#"{{"result":{{"text":"{}\"id\":1"}},"jsonrpc":"2.0","id":"a\u0062"}}"#, "x".repeat(5000));
    for size in [1, 2, 7, 64, 4096] {
        let mut recovery = Recovery::default();
        text.as_bytes().chunks(size).for_each(|piece| recovery.feed(piece));
        let found = recovery.finish();
        assert_eq!(found.id, Some(Id::String("ab".to_owned())), "pieces of {size}");
        assert!(found.outcome && !found.method);
    }
}

#[test]
fn a_number_that_may_be_cut_off_and_an_endless_id_are_not_taken() {
    let mut recovery = Recovery::default();
    recovery.feed(br#"{"id":12"#);
    assert_eq!(recovery.finish().id, None);
    let mut recovery = Recovery::default();
    recovery.feed(format!(r#"{{"id":"{}","result":1}}"#, "9".repeat(10_000)).as_bytes());
    assert_eq!(recovery.finish().id, None);
}

#[test]
fn an_error_without_an_id_is_kept_apart() {
    assert!(matches!(
        read(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#),
        Incoming::Unattributed(error) if error.code() == code::INVALID_REQUEST
    ));
}

#[test]
fn a_batch_is_read_without_its_noise() {
    let Incoming::Batch(elements) =
        read(br#"[{"jsonrpc":"2.0","id":1,"result":{}},7,{"level":1},[],{"jsonrpc":"2.0"}]"#)
    else {
        panic!("no batch");
    };
    assert_eq!(elements.len(), 2);
}

#[test]
fn an_error_object_keeps_unknown_members_and_their_order() {
    let text = r#"{"vendor":1.0,"code":-32000,"message":"m","data":{"b":1,"a":2}}"#;
    let error = ErrorObject::from_value(parse_str(text).unwrap()).unwrap();
    let mut buffer = Vec::new();
    write_error(&mut buffer, None, &error);
    assert_eq!(String::from_utf8(buffer).unwrap(), format!(r#"{{"jsonrpc":"2.0","id":null,"error":{text}}}"#));
    assert_eq!(error.into_value().to_json(), text);
}

fn request_text(params: Option<&str>, rewrite: Rewrite<'_>) -> String {
    let mut buffer = Vec::new();
    let params = params.map(|text| parse_str(text).unwrap());
    write_request(&mut buffer, &Id::from(1), "m", params.as_ref(), rewrite);
    String::from_utf8(buffer).unwrap()
}

#[test]
fn the_envelope_rewrites_what_it_may_and_nothing_else() {
    let token = Value::from(9_u64);
    let name = Value::from("echo");
    let set = Rewrite { members: &[("name", Some(&name)), ("state", None)], meta: &[("progressToken", Some(&token))] };
    let params = r#"{"name":"mcp__a__echo","_meta":{"k":1.50,"progressToken":"abc"},"arguments":{"z":1e2,"a":"é"}}"#;
    assert_eq!(
        request_text(Some(params), set),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"echo","_meta":{"k":1.50,"progressToken":9},"arguments":{"z":1e2,"a":"é"}}}"#
    );
    assert_eq!(
        request_text(None, set),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"echo","_meta":{"progressToken":9}}}"#
    );
    let removed = Rewrite { members: &[], meta: &[("progressToken", None)] };
    assert_eq!(
        request_text(Some(r#"{"_meta":{"progressToken":1},"a":1}"#), removed),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#
    );
    assert_eq!(
        request_text(Some(r#"{"_meta":{},"a":1}"#), removed),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{},"a":1}}"#
    );
    assert_eq!(request_text(None, removed), r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
    assert_eq!(
        request_text(Some(r#"{"b":1,"_meta":"odd","state":2}"#), set),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"b":1,"_meta":{"progressToken":9},"name":"echo"}}"#
    );
}

#[test]
fn what_is_written_is_read_back() {
    let mut buffer = Vec::new();
    let result = Value::from(object! { "text" => "line\nbreak \u{2028} \"quoted\"", "n" => 1_u64 });
    write_result(&mut buffer, &Id::String("a\"b".to_owned()), &result);
    assert!(!buffer.contains(&b'\n'));
    let Incoming::Message(Message::Response(response)) = read(&buffer) else {
        panic!("no response");
    };
    assert_eq!(response, Response { id: Id::String("a\"b".to_owned()), outcome: Ok(result) });
}

use portcullis_model::json::parse_str;

use super::*;

fn tool(schema: &str) -> Value {
    parse_str(&format!(r#"{{"name":"t","inputSchema":{schema}}}"#)).unwrap()
}

fn written(schema: &str, arguments: &str) -> Vec<String> {
    let bindings = bindings(&tool(schema)).unwrap();
    let params = parse_str(&format!(r#"{{"arguments":{arguments}}}"#)).unwrap();
    let headers = headers("tools/call", Some("t"), Some(&params), &bindings);
    let text = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
    headers.iter().map(text).skip_while(|text| !text.starts_with("mcp-param")).collect()
}

#[test]
fn a_request_repeats_its_version_method_and_name() {
    let headers = headers("resources/read", Some("file:///\u{e9}"), None, &[]);
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(headers["mcp-method"], "resources/read");
    assert_eq!(headers["mcp-name"], "=?base64?ZmlsZTovLy/DqQ==?=");
}

#[test]
fn annotated_arguments_are_repeated_each_in_its_header() {
    let schema = r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "deep":{"type":"object","properties":{"count":{"type":"integer","x-mcp-header":"Count"}}},
        "dry":{"type":"boolean","x-mcp-header":"Dry"},
        "plain":{"type":"string"}}}"#;
    assert_eq!(
        written(schema, r#"{"region":"us-west 1","deep":{"count":7},"dry":false,"plain":"p"}"#),
        ["mcp-param-region: us-west 1", "mcp-param-count: 7", "mcp-param-dry: false"]
    );
    assert_eq!(written(schema, r#"{"region":null,"deep":5,"dry":[]}"#), [""; 0]);
    assert_eq!(written(schema, r#"{"deep":{"count":42.0}}"#), ["mcp-param-count: 42"]);
    assert_eq!(written(schema, r#"{"deep":{"count":-9e2}}"#), ["mcp-param-count: -900"]);
    assert_eq!(
        written(schema, r#"{"deep":{"count":12345678901234567890120}}"#),
        ["mcp-param-count: 12345678901234567890120"]
    );
    assert_eq!(written(schema, r#"{"deep":{"count":1.5}}"#), ["mcp-param-count: 1.5"]);
    assert_eq!(written(schema, r#"{"deep":{"count":1e999}}"#), ["mcp-param-count: 1e999"]);
}

#[test]
fn a_value_that_is_unsafe_in_a_header_is_encoded() {
    let schema = r#"{"properties":{"v":{"type":"string","x-mcp-header":"V"}}}"#;
    let one = |value: &str| written(schema, &format!(r#"{{"v":{value}}}"#)).concat();
    assert_eq!(one(r#""""#), "mcp-param-v: ");
    assert_eq!(one(r#"" padded""#), "mcp-param-v: =?base64?IHBhZGRlZA==?=");
    assert_eq!(one(r#""a\r\nX: y""#), "mcp-param-v: =?base64?YQ0KWDogeQ==?=");
    assert_eq!(one(r#""a\tb""#), "mcp-param-v: =?base64?YQli?=");
    assert_eq!(one(r#""=?base64?x?=""#), "mcp-param-v: =?base64?PT9iYXNlNjQ/eD89?=");
    assert_eq!(one(r#""=?base64?x""#), "mcp-param-v: =?base64?x");
}

#[test]
fn annotations_that_cannot_be_followed_are_refused() {
    let property = |schema: &str| format!(r#"{{"properties":{{"p":{schema}}}}}"#);
    let refused = [
        property(r#"{"type":"number","x-mcp-header":"N"}"#),
        property(r#"{"type":"object","x-mcp-header":"N"}"#),
        property(r#"{"type":["string","null"],"x-mcp-header":"N"}"#),
        property(r#"{"type":"string","x-mcp-header":""}"#),
        property(r#"{"type":"string","x-mcp-header":5}"#),
        property(r#"{"type":"string","x-mcp-header":"a b"}"#),
        property(r#"{"type":"string","x-mcp-header":"a\r\nb"}"#),
        property(r#"{"type":"array","items":{"type":"string","x-mcp-header":"N"}}"#),
        property(r#"{"anyOf":[{"type":"string","x-mcp-header":"N"}]}"#),
        property(r#"{"items":{"properties":{"q":{"type":"string","x-mcp-header":"N"}}}}"#),
        r#"{"x-mcp-header":"N","type":"object"}"#.to_owned(),
        r#"{"$defs":{"d":{"type":"string","x-mcp-header":"N"}}}"#.to_owned(),
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"N"},"b":{"type":"string","x-mcp-header":"n"}}}"#
            .to_owned(),
    ];
    for schema in refused {
        assert!(bindings(&tool(&schema)).is_err(), "{schema}");
    }
}

#[test]
fn what_only_looks_like_an_annotation_is_none() {
    for schema in [
        r#"{"properties":{"x-mcp-header":{"type":"number"}}}"#,
        r#"{"properties":{"p":{"default":{"x-mcp-header":"N"},"enum":[{"x-mcp-header":"N"}]}}}"#,
        r#"{"dependentRequired":{"x-mcp-header":["a"]}}"#,
        "true",
    ] {
        assert!(bindings(&tool(schema)).unwrap().is_empty(), "{schema}");
    }
    assert!(bindings(&parse_str("5").unwrap()).unwrap().is_empty());
}

use portcullis_model::json::{Object, Value, parse_str};
use proptest::prelude::*;

use super::{provider_schema, provider_tool};

fn value(text: &str) -> Value {
    parse_str(text).unwrap()
}

/// Checks what becomes of a schema, and that it stays so.
fn becomes(schema: &str, expected: &str) {
    let normal = provider_schema(&value(schema)).unwrap_or_else(|| panic!("nothing changed: {schema}"));
    assert_eq!(normal.to_json(), value(expected).to_json(), "{schema}");
    assert_eq!(provider_schema(&normal), None, "a second time: {schema}");
}

fn stays(schema: &str) {
    assert_eq!(provider_schema(&value(schema)), None, "{schema}");
}

#[test]
fn what_is_no_object_or_says_nothing_becomes_an_object_without_properties() {
    for schema in ["{}", "null", "true", "[]", r#""object""#, "12"] {
        becomes(schema, r#"{"type":"object","properties":{}}"#);
    }
    becomes(
        r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}"#,
    );
    assert_eq!(
        provider_tool(&value(r#"{"name":"a"}"#)),
        Some(value(r#"{"name":"a","inputSchema":{"type":"object","properties":{}}}"#))
    );
}

#[test]
fn what_a_provider_takes_stays_as_it_is() {
    stays(
        r#"{"type":"object","properties":{"a":{"type":"string","default":1.50},"b":{"type":"array","items":{"type":"integer"}},
        "c":{"enum":["x",null]},"d":true,"e":{}},"required":["b"],"additionalProperties":false,"x-vendor":{"definitions":{"type":null}}}"#,
    );
    stays(r#"{"anyOf":[{"type":"object","properties":{}},{"type":"object","properties":{}}]}"#);
    stays(r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}"##);
}

#[test]
fn the_older_keyword_of_definitions_becomes_the_newer_with_the_references_to_it() {
    becomes(
        r##"{"type":"object","properties":{"definitions":{"$ref":"#/definitions/A"},"b":{"$ref":"#/properties/definitions"}},
        "definitions":{"A":{"type":"string"},"definitions":{"$ref":"#/definitions/definitions"}}}"##,
        r##"{"type":"object","properties":{"definitions":{"$ref":"#/$defs/A"},"b":{"$ref":"#/properties/definitions"}},
        "$defs":{"A":{"type":"string"},"definitions":{"$ref":"#/$defs/definitions"}}}"##,
    );
    becomes(
        r##"{"type":"object","properties":{"a":{"items":[{"definitions":{"B":{}}}]},"b":{"$ref":"#/properties/a/items/0/definitions/B"}}}"##,
        r##"{"type":"object","properties":{"a":{"items":[{"$defs":{"B":{}}}]},"b":{"$ref":"#/properties/a/items/0/$defs/B"}}}"##,
    );
    becomes(
        r#"{"type":"object","properties":{},"$defs":{"A":{}},"definitions":{"B":{}}}"#,
        r#"{"type":"object","properties":{},"$defs":{"A":{},"B":{}}}"#,
    );
    // Two of one name: neither is lost.
    stays(
        r##"{"type":"object","properties":{"a":{"$ref":"#/definitions/A"}},"$defs":{"A":{}},"definitions":{"A":{"type":"string"}}}"##,
    );
}

#[test]
fn a_union_with_null_becomes_the_other_branch_with_a_hint() {
    let around = |inner: &str| format!(r#"{{"type":"object","properties":{{"a":{inner}}}}}"#);
    for (union, expected) in [
        (r#"{"type":["string","null"],"default":null}"#, r#"{"type":"string","default":null,"nullable":true}"#),
        (r#"{"type":["null","integer"]}"#, r#"{"type":"integer","nullable":true}"#),
        (
            r#"{"anyOf":[{"type":"string","title":"inner"},{"type":"null"}],"title":"A"}"#,
            r#"{"type":"string","title":"A","nullable":true}"#,
        ),
        (
            r#"{"description":"d","oneOf":[{"type":"null"},{"type":"array"}],"default":null}"#,
            r#"{"description":"d","type":"array","items":{},"default":null,"nullable":true}"#,
        ),
        (r##"{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}"##, r##"{"$ref":"#/$defs/A","nullable":true}"##),
        (
            r#"{"anyOf":[{"anyOf":[{"type":"string"},{"type":"null"}]},{"type":"null"}]}"#,
            r#"{"type":"string","nullable":true}"#,
        ),
    ] {
        becomes(&around(union), &around(expected));
    }
    for kept in [
        r#"{"type":["string","integer","null"]}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}"#,
        r#"{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}],"maxLength":5}"#,
        r#"{"anyOf":[{"$anchor":"x","type":"string"},{"type":"null"}]}"#,
        r#"{"not":{"anyOf":[{"type":"string"},{"type":"null"}]}}"#,
    ] {
        stays(&around(kept));
    }
    // A reference into the union would lose its target.
    stays(
        r##"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"$ref":"#/properties/a/anyOf/0"}}}"##,
    );
}

#[test]
fn an_object_has_a_type_and_properties_and_requires_only_those() {
    becomes(r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"type":"object"}"#);
    becomes(r#"{"type":null,"required":["a"]}"#, r#"{"type":"object","properties":{}}"#);
    becomes(r#"{"type":"object","properties":[1]}"#, r#"{"type":"object","properties":{}}"#);
    becomes(
        r#"{"type":"object","properties":{"a":{"type":"string","required":true}},"required":["a","b",3]}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
    );
    // What a part requires stands beside it.
    stays(r#"{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}"#);
    stays(
        r#"{"type":"object","properties":{"a":{}},"not":{"required":["b"]},"if":{"properties":{"a":{"type":"array"}}}}"#,
    );
}

#[test]
fn an_array_has_items() {
    becomes(
        r#"{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":null}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":"array","items":{}}}}"#,
    );
}

/// JSON that is rich in what schemas are made of.
fn schemas() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "$defs",
        "definitions",
        "$ref",
        "nullable",
        "default",
        "title",
        "description",
        "enum",
        "prefixItems",
        "additionalProperties",
        "dependencies",
        "a",
        "b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop::sample::select(vec![
            "object",
            "array",
            "null",
            "string",
            "a",
            "b",
            "#/definitions/a",
            "#/properties/a/anyOf/0",
            "#",
            "#/items/0/definitions/b",
        ])
        .prop_map(Value::from),
        any::<i32>().prop_map(|number| value(&number.to_string())),
    ];
    leaf.prop_recursive(6, 64, 5, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::vec((keyword.clone(), inner), 0..6).prop_map(|members| {
                let mut object = Object::new();
                for (key, value) in members {
                    object.insert(key, value);
                }
                object.into()
            }),
        ]
    })
}

/// Returns every text in a value, keys included.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            found.push(key.to_owned());
            texts(value, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_was_normalised_stays_as_it_is(schema in schemas()) {
        if let Some(normal) = provider_schema(&schema) {
            prop_assert_ne!(&normal, &schema);
            prop_assert_eq!(provider_schema(&normal), None, "{}", normal.to_json());
        }
    }

    #[test]
    fn no_text_is_added_but_keywords(schema in schemas()) {
        let Some(normal) = provider_schema(&schema) else { return Ok(()) };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        texts(&schema, &mut before);
        texts(&normal, &mut after);
        for text in after {
            let is_keyword = ["type", "object", "properties", "items", "nullable", "$defs"].contains(&text.as_str());
            prop_assert!(is_keyword || text.contains("/$defs/") || before.contains(&text), "{text}");
        }
    }
}

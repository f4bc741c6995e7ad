//! Generated JSON: as odd as the format allows.

use portcullis_model::json::{Object, Value, parse_str};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;

/// Numbers whose text a reader may be tempted to change.
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "1.0",
    "1e3",
    "1E+2",
    "-1.50e-7",
    "0.1",
    "0.30000000000000004",
    "12345678901234567890123",
    "9007199254740993",
    "-9223372036854775809",
    "1e400",
    "3.14159265358979323846",
    "100000000000000000000000000000000.0",
];

/// Keys that mean something to a reader, a schema, or a language.
const KEYS: [&str; 16] = [
    "$defs",
    "$anchor",
    "$ref",
    "x-vendor",
    "vendor.example/hint",
    "execution",
    "tools",
    "contents",
    "messages",
    "action",
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
    "__proto__",
    "constructor",
    "",
    "a b/c~d",
];

/// Returns any number.
pub(crate) fn number() -> BoxedStrategy<Value> {
    prop_oneof![
        select(&NUMBERS[..]).prop_map(|text| parse_str(text).expect("a number")),
        any::<i64>().prop_map(|number| parse_str(&number.to_string()).expect("a number")),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| { parse_str(&format!("{number:e}")).expect("a number") }),
    ]
    .boxed()
}

/// Returns any text of printable characters, some of them beyond the first plane, and escapes.
pub(crate) fn text() -> BoxedStrategy<String> {
    prop_oneof![
        8 => "[a-zA-Z0-9 .,:;_/-]{0,24}",
        2 => "[ -~]{0,12}",
        1 => "[äößéñΩжя中文字🙂🦀]{1,6}",
        1 => Just("line\nbreak\ttab \"quoted\" back\\slash".to_owned()),
    ]
    .boxed()
}

/// Returns any key.
fn key() -> BoxedStrategy<String> {
    prop_oneof![select(&KEYS[..]).prop_map(str::to_owned), "[a-zA-Z_]{1,10}"].boxed()
}

/// Returns any value, of four levels at most.
pub(crate) fn value() -> BoxedStrategy<Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool), number(), text().prop_map(Value::String),];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((key(), inner), 0..4).prop_map(|members| object_of(members).into()),
        ]
    })
    .boxed()
}

/// Returns an object with any members. None of their keys is one of `reserved`.
pub(crate) fn extras(reserved: &'static [&'static str]) -> BoxedStrategy<Object> {
    vec((key(), value()), 0..4)
        .prop_map(move |members| {
            object_of(members.into_iter().filter(|(key, _)| !reserved.contains(&key.as_str())).collect())
        })
        .boxed()
}

fn object_of(members: Vec<(String, Value)>) -> Object {
    let mut object = Object::new();
    for (key, value) in members {
        if !object.contains_key(&key) {
            object.insert(key, value);
        }
    }
    object
}

/// Mixes members into others, at places that depend on their number: order has to survive too.
pub(crate) fn mixed(known: &Object, extras: &Object) -> Object {
    let mut mixed = Object::new();
    let mut rest = extras.iter();
    for (key, value) in known.iter() {
        if let Some((extra, value)) = rest.next() {
            mixed.insert(extra, value.clone());
        }
        mixed.insert(key, value.clone());
    }
    for (extra, value) in rest {
        mixed.insert(extra, value.clone());
    }
    mixed
}

//! References between the parts of a schema: JSON pointers in the fragment of `$ref` (RFC 6901 §6).

use portcullis_model::json::{Object, Value};

use super::{Below, below};

/// Returns true where a schema has two definitions, one by the older keyword, that would get the same name.
pub(super) fn would_clash(schema: &Value) -> bool {
    any(schema, &mut |object| {
        let named = |keyword: &str| object.get(keyword).and_then(Value::as_object);
        match (named("definitions"), named("$defs")) {
            (Some(older), Some(newer)) => older.iter().any(|(name, _)| newer.contains_key(name)),
            (Some(_), None) => object.contains_key("$defs"),
            (None, _) => false,
        }
    })
}

/// Returns true where a reference points into a union: folding it would leave the reference without its target.
pub(super) fn point_into_unions(schema: &Value) -> bool {
    any(schema, &mut |object| {
        let pointer = object.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/"));
        pointer.is_some_and(|pointer| {
            let mut into_union = false;
            walk(pointer, |token, is_keyword| into_union |= is_keyword && matches!(token, "anyOf" | "oneOf"));
            into_union
        })
    })
}

/// Returns a reference by the keyword of today.
pub(super) fn renamed(reference: Value) -> Value {
    let Some(pointer) = reference.as_str().and_then(|text| text.strip_prefix("#/")) else {
        return reference;
    };
    let mut text = String::from("#");
    walk(pointer, |token, is_keyword| {
        text.push('/');
        text.push_str(if is_keyword && token == "definitions" { "$defs" } else { token });
    });
    text.into()
}

/// Tells of each token of a pointer whether it is a keyword of a schema there.
fn walk(pointer: &str, mut tell: impl FnMut(&str, bool)) {
    let mut place = Below::Schema;
    let mut may_be_index = false;
    for token in pointer.split('/') {
        let is_index = may_be_index && token.bytes().all(|byte| byte.is_ascii_digit());
        let is_keyword = place == Below::Schema && !is_index;
        tell(token, is_keyword);
        may_be_index = is_keyword && token == "items";
        place = match place {
            Below::Schema if is_index => Below::Schema,
            Below::Schema => below(token),
            Below::Named | Below::List => Below::Schema,
            Below::Data => Below::Data,
        };
    }
}

/// Returns true where something holds of the schema or of one below it.
fn any(schema: &Value, holds: &mut impl FnMut(&Object) -> bool) -> bool {
    let Some(object) = schema.as_object() else {
        return false;
    };
    holds(object)
        || object.iter().any(|(keyword, value)| match (below(keyword), value) {
            (Below::Schema | Below::List, Value::Array(items)) => items.iter().any(|item| any(item, holds)),
            (Below::Named, Value::Object(named)) => named.iter().any(|(_, schema)| any(schema, holds)),
            (Below::Schema, schema) => any(schema, holds),
            (_, _) => false,
        })
}

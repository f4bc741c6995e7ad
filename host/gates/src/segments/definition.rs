//! What a definition is compared by: its fields, their digests, and what a server says of its effects.

use std::collections::BTreeMap;

use portcullis_model::json::{Value, push_key};
use portcullis_model::{Annotations, Digest, DriftedField, FieldDigest, PinState, Pinned};

/// Members that are compared one by one rather than as a whole, so that drift names what changed.
const SPLIT: [&str; 5] = ["inputSchema", "outputSchema", "annotations", "_meta", "execution"];

/// Returns what a server says of a tool's effects. Only real booleans count: `"true"`, `1` and `null` say nothing.
pub fn annotations(document: &Value) -> Annotations {
    let Some(annotations) = document.get("annotations") else {
        return Annotations::default();
    };
    let flag = |name: &str| annotations.get(name).and_then(Value::as_bool);
    Annotations {
        title: annotations.get("title").and_then(Value::as_str).map(str::to_owned),
        read_only: flag("readOnlyHint"),
        destructive: flag("destructiveHint"),
        idempotent: flag("idempotentHint"),
        open_world: flag("openWorldHint"),
    }
}

/// Returns the digest of each field of a definition: of each member, and inside schemas, annotations and `_meta` of
/// each member there, properties one by one.
pub fn field_digests(document: &Value) -> Vec<FieldDigest> {
    fields(document).into_iter().map(|(pointer, value)| FieldDigest { pointer, digest: value.digest() }).collect()
}

/// Returns the state of a definition against what was approved, and what changed since.
pub(crate) fn drift(document: &Value, digest: Digest, pinned: Option<&Pinned>) -> (PinState, Vec<DriftedField>) {
    let Some(pinned) = pinned else {
        return (PinState::Unpinned, Vec::new());
    };
    if pinned.digest == digest {
        return (PinState::Approved, Vec::new());
    }
    // Both sides are split by the same rule: the stored digests may come from a version that split differently.
    let before: BTreeMap<String, &Value> = fields(&pinned.document).into_iter().collect();
    let after: BTreeMap<String, &Value> = fields(document).into_iter().collect();
    let changed = after.iter().filter_map(|(pointer, value)| {
        let former = before.get(pointer).copied();
        let same = former.is_some_and(|former| former.to_canonical() == value.to_canonical());
        let field =
            || DriftedField { pointer: pointer.clone(), before: former.cloned(), after: Some((*value).clone()) };
        (!same).then(field)
    });
    let gone = before
        .iter()
        .filter(|(pointer, _)| !after.contains_key(*pointer))
        .map(|(pointer, value)| DriftedField { pointer: pointer.clone(), before: Some((*value).clone()), after: None });
    (PinState::Drifted, changed.chain(gone).collect())
}

fn fields(document: &Value) -> Vec<(String, &Value)> {
    let mut fields = Vec::new();
    split(document, &mut String::new(), 0, &mut fields);
    fields
}

/// Splits the document, then the members named in [`SPLIT`], then the properties of a schema.
fn split<'a>(value: &'a Value, pointer: &mut String, level: u8, fields: &mut Vec<(String, &'a Value)>) {
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
        fields.push((pointer.clone(), value));
        return;
    };
    let base = pointer.len();
    for (key, member) in object.iter() {
        push_key(pointer, key);
        let deeper = match level {
            0 => SPLIT.contains(&key),
            1 => matches!(key, "properties" | "$defs" | "definitions"),
            _ => false,
        };
        if deeper {
            split(member, pointer, level + 1, fields);
        } else {
            fields.push((pointer.clone(), member));
        }
        pointer.truncate(base);
    }
}

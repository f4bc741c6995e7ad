//! Unions with `null`, which many providers do not take.

use portcullis_model::json::{Object, Value};

/// Keywords that say something about a value and allow or refuse none (JSON Schema 2020-12, validation §9).
const ANNOTATIONS: [&str; 8] =
    ["$comment", "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples"];

/// Returns a schema with its union of one schema and `null` folded into that schema, and a hint instead.
pub(super) fn fold(mut object: Object) -> Object {
    if let Some(kind) = object.get("type").and_then(Value::as_array).and_then(the_other_type) {
        object.insert("type", kind);
        object.insert("nullable", true);
    }
    match ["anyOf", "oneOf"].into_iter().find_map(|keyword| Some((keyword, the_other_branch(&object, keyword)?))) {
        Some((keyword, branch)) => folded(object, keyword, branch),
        None => object,
    }
}

/// Returns the type that stands beside `null`.
fn the_other_type(types: &[Value]) -> Option<Value> {
    match types {
        [kind, null] | [null, kind] if null.as_str() == Some("null") && kind.as_str() != Some("null") => {
            kind.as_str().map(Value::from)
        }
        _ => None,
    }
}

/// Returns the branch that stands beside `null`, where what it says can stand in the place of the union.
fn the_other_branch(object: &Object, keyword: &str) -> Option<Object> {
    let (branch, null) = match object.get(keyword)?.as_array()? {
        [left, right] if is_null(right) => (left, right),
        [left, right] if is_null(left) => (right, left),
        _ => return None,
    };
    let branch = branch.as_object().filter(|_| branch != null)?;
    // A keyword that stands in both places says two things; one that names the branch would name something else.
    let has_place =
        |key: &str| ANNOTATIONS.contains(&key) || key == "$ref" || !(key.starts_with('$') || key == "definitions");
    let is_free = |key: &str| ANNOTATIONS.contains(&key) || key == keyword || !object.contains_key(key);
    branch.iter().all(|(key, _)| has_place(key) && (is_free(key) || key == "nullable")).then(|| branch.clone())
}

/// Returns true for the schema of `null`.
fn is_null(schema: &Value) -> bool {
    let Some(object) = schema.as_object() else {
        return false;
    };
    object.get("type").and_then(Value::as_str) == Some("null")
        && object.iter().all(|(key, _)| key == "type" || ANNOTATIONS.contains(&key))
}

fn folded(object: Object, keyword: &str, branch: Object) -> Object {
    let mut kept = Object::new();
    // What is said of the union counts, not what is said of its branch.
    let said: Vec<String> = object.iter().map(|(key, _)| key.to_owned()).filter(|key| key != keyword).collect();
    let mut branch = Some(branch);
    for (key, value) in object {
        if key == keyword {
            let members = branch.take().into_iter().flatten();
            for (key, value) in members.filter(|(key, _)| !said.contains(key)) {
                kept.insert(key, value);
            }
        } else {
            kept.insert(key, value);
        }
    }
    kept.insert("nullable", true);
    kept
}

//! Schemas of arguments in the form that model providers take.
//!
//! Servers write JSON Schema as they like, and providers refuse a whole request for one tool whose schema they do not
//! take: an object without `properties`, an array without `items`, a `required` name that is not declared, a union with
//! `null`, the older keyword `definitions`. What is changed here says the same to a model, or a little less; no text is
//! added. What a provider takes as it is stays as it is, to the order of members and the text of numbers.
//!
//! This is a view for clients that ask for it. What gates judge and what is pinned is what the server listed.

mod references;
mod union;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// What stands under a keyword of a schema (JSON Schema 2020-12, and the older `definitions`, `dependencies`, and `items`
/// as a list).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    /// A schema.
    Schema,
    /// Schemas by names that the author chose.
    Named,
    /// A list of schemas.
    List,
    /// No schema: what looks like a keyword there is none.
    Data,
}

fn below(keyword: &str) -> Below {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Below::Schema,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
            Below::Named
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Below::List,
        _ => Below::Data,
    }
}

/// What a schema is to the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// All arguments of a tool.
    Top,
    /// A value of its own.
    Own,
    /// A part of what is said of a value: what it leaves out may stand beside it.
    Part,
    /// A condition, or below one: to say more there is to allow less or more elsewhere.
    Condition,
}

impl Role {
    fn of_keyword(self, keyword: &str) -> Self {
        match (self, keyword) {
            (Self::Condition, _) | (_, "if" | "not") => Self::Condition,
            (_, "allOf" | "anyOf" | "dependencies" | "dependentSchemas" | "else" | "oneOf" | "then") => Self::Part,
            (_, _) => Self::Own,
        }
    }
}

/// What of a schema may be changed, as far as that depends on all of it.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// `definitions` can become `$defs`: no two definitions would get the same name.
    rename: bool,
    /// Unions with `null` can be folded: no reference points into a union.
    fold: bool,
}

/// Returns a tool with its `inputSchema` as providers take it; nothing where they take it as it is.
pub fn provider_tool(tool: &Value) -> Option<Value> {
    let empty = Value::Null;
    let schema = provider_schema(tool.get("inputSchema").unwrap_or(&empty))?;
    let mut tool = tool.clone();
    tool.as_object_mut()?.insert("inputSchema", schema);
    Some(tool)
}

/// Returns the schema of a tool's arguments as providers take it; nothing where they take it as it is.
///
/// - What is no object becomes an object without properties, and so does a schema that says nothing.
/// - `definitions` becomes `$defs`, with the references to it.
/// - A union of one schema with `null` becomes that schema, with `nullable: true` as a hint.
/// - What has `properties` or `required` and no type is an object; an object has `properties`; `required` names some of
///   them, or is left out.
/// - An array has `items`.
///
/// A union at the top stays: there is no telling which of its branches a model should see.
pub fn provider_schema(schema: &Value) -> Option<Value> {
    let scope = Scope { rename: !references::would_clash(schema), fold: !references::point_into_unions(schema) };
    let normal = normal(schema.clone(), Role::Top, scope);
    (normal != *schema).then_some(normal)
}

fn normal(schema: Value, role: Role, scope: Scope) -> Value {
    let Value::Object(object) = schema else {
        return if role == Role::Top { nothing_wanted() } else { schema };
    };
    if role == Role::Top && object.is_empty() {
        return nothing_wanted();
    }
    let mut object = members(object, role, scope);
    if role == Role::Condition {
        return object.into();
    }
    if scope.fold {
        object = union::fold(object);
    }
    complete(&mut object, role);
    object.into()
}

/// The schema of a tool that takes no arguments.
fn nothing_wanted() -> Value {
    object! { "type" => "object", "properties" => Object::new() }.into()
}

/// Returns a schema with the schemas below it as providers take them, and with the keyword of today.
fn members(object: Object, role: Role, scope: Scope) -> Object {
    let mut kept = Object::new();
    let mut older = None;
    let has_defs = object.get("$defs").is_some_and(|defs| defs.as_object().is_some());
    for (key, value) in object {
        let value = if key == "$ref" && scope.rename {
            references::renamed(value)
        } else {
            inside(&key, value, role.of_keyword(&key), scope)
        };
        if key == "definitions"
            && scope.rename
            && let Value::Object(definitions) = value
        {
            if has_defs {
                older = Some(definitions);
            } else {
                kept.insert("$defs", definitions);
            }
        } else {
            kept.insert(key, value);
        }
    }
    if let Some(defs) = kept.get_mut("$defs").and_then(Value::as_object_mut) {
        for (name, definition) in older.into_iter().flatten() {
            defs.insert(name, definition);
        }
    }
    kept
}

fn inside(keyword: &str, value: Value, role: Role, scope: Scope) -> Value {
    match (below(keyword), value) {
        (Below::Schema | Below::List, Value::Array(items)) => {
            items.into_iter().map(|item| normal(item, role, scope)).collect::<Vec<_>>().into()
        }
        (Below::Named, Value::Object(named)) => {
            let mut kept = Object::new();
            for (name, schema) in named {
                kept.insert(name, normal(schema, role, scope));
            }
            kept.into()
        }
        (Below::Schema, value) => normal(value, role, scope),
        (_, value) => value,
    }
}

/// Puts in what providers miss, and takes out what they refuse.
fn complete(object: &mut Object, role: Role) {
    // In early drafts it was a boolean of the property itself.
    if object.get("required").is_some_and(|required| required.as_array().is_none()) {
        object.remove("required");
    }
    // A part that names no properties speaks of those beside it.
    let is_whole = role != Role::Part || object.contains_key("properties");
    if is_whole && object.get("type").is_none_or(Value::is_null) {
        let is_object = object.contains_key("properties") || object.contains_key("required");
        let says_elsewhere = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| object.contains_key(keyword));
        if is_object || (role == Role::Top && !says_elsewhere) {
            object.insert("type", "object");
        } else {
            // A type of `null` is none.
            object.remove("type");
        }
    }
    let kind = object.get("type").and_then(Value::as_str);
    if is_whole && kind == Some("object") {
        if object.get("properties").is_none_or(|properties| properties.as_object().is_none()) {
            object.insert("properties", Object::new());
        }
        require_what_is_there(object);
    } else if kind == Some("array") && !object.get("items").is_some_and(is_schema_or_list) {
        object.insert("items", Object::new());
    }
}

fn is_schema_or_list(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_) | Value::Bool(_))
}

fn require_what_is_there(object: &mut Object) {
    let Some(required) = object.get("required").and_then(Value::as_array) else {
        return;
    };
    let properties = object.get("properties").and_then(Value::as_object);
    let is_there =
        |name: &&Value| name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)));
    let known: Vec<Value> = required.iter().filter(is_there).cloned().collect();
    if known.is_empty() {
        object.remove("required");
    } else if known.len() < required.len() {
        object.insert("required", known);
    }
}

#[cfg(test)]
mod tests;

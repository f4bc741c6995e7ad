//! Cuts a JSON document into segments.

use serde_json::Value;

use crate::{Role, Segment};

/// Cuts a document. `role` is that of strings whose member says nothing else.
pub(super) fn cut(document: &Value, role: Role) -> Vec<Segment> {
    let mut segments = Vec::new();
    walk(document, "", role, &mut segments);
    segments
}

fn walk(value: &Value, pointer: &str, role: Role, segments: &mut Vec<Segment>) {
    match value {
        Value::String(text) => {
            segments.push(Segment { pointer: pointer.to_owned(), role, key: false, text: text.clone() });
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{pointer}/{index}"), role, segments);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                segments.push(Segment { pointer: pointer.clone(), role: Role::Name, key: true, text: key.clone() });
                walk(member, &pointer, role_of(role, key), segments);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the role of what stands under a key. Arguments, entries, metadata and structured content are one thing all the way down.
fn role_of(outer: Role, key: &str) -> Role {
    match (outer, key) {
        (Role::Argument | Role::Entry | Role::Meta | Role::Annotation | Role::Structured, _) => outer,
        (_, "_meta") => Role::Meta,
        (_, "annotations") => Role::Annotation,
        (_, "structuredContent") => Role::Structured,
        (_, "inputSchema" | "outputSchema" | "requestedSchema") => Role::Schema,
        (_, "description") => Role::Description,
        (_, "title") => Role::Title,
        (Role::Other, "name") => Role::Name,
        (_, "uri" | "url" | "uriTemplate") => Role::Uri,
        _ => outer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_and_every_key_becomes_a_segment_with_its_pointer() {
        let document =
            serde_json::json!({ "name": "t", "inputSchema": { "properties": { "a/b": { "description": "d" } } } });
        let cut: Vec<_> = cut(&document, Role::Other)
            .into_iter()
            .map(|segment| (segment.pointer, segment.role, segment.key, segment.text))
            .collect();
        let expected = [
            ("/inputSchema", Role::Name, true, "inputSchema"),
            ("/inputSchema/properties", Role::Name, true, "properties"),
            ("/inputSchema/properties/a~1b", Role::Name, true, "a/b"),
            ("/inputSchema/properties/a~1b/description", Role::Name, true, "description"),
            ("/inputSchema/properties/a~1b/description", Role::Description, false, "d"),
            ("/name", Role::Name, true, "name"),
            ("/name", Role::Name, false, "t"),
        ];
        let mut sorted = cut.clone();
        sorted.sort_by(|left, right| (&left.0, !left.2).cmp(&(&right.0, !right.2)));
        assert_eq!(sorted, expected.map(|(pointer, role, key, text)| (pointer.to_owned(), role, key, text.to_owned())));
    }
}

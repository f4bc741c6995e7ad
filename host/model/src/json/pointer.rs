//! JSON pointers (RFC 6901).

use super::Value;

/// Returns a reference token escaped for a pointer.
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// Appends a member to a pointer.
pub fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    if key.contains(['~', '/']) {
        pointer.push_str(&escape(key));
    } else {
        pointer.push_str(key);
    }
}

/// Appends an element to a pointer.
pub fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    pointer.push_str(&index.to_string());
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Returns the tokens of a pointer, or nothing where it is malformed.
fn tokens(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let rest = match pointer.strip_prefix('/') {
        Some(rest) => Some(rest),
        None if pointer.is_empty() => None,
        None => return None,
    };
    Some(rest.into_iter().flat_map(|rest| rest.split('/')).map(unescape))
}

/// Returns the index that a token names; leading zeros are no index.
fn index(token: &str) -> Option<usize> {
    if token.len() > 1 && token.starts_with('0') || !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    token.parse().ok()
}

pub(super) fn find<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    tokens(pointer)?.try_fold(value, |value, token| match value {
        Value::Object(object) => object.get(&token),
        Value::Array(items) => items.get(index(&token)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

pub(super) fn find_mut<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    tokens(pointer)?.try_fold(value, |value, token| match value {
        Value::Object(object) => object.get_mut(&token),
        Value::Array(items) => items.get_mut(index(&token)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

pub(super) fn remove(value: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, last) = pointer.rsplit_once('/')?;
    find_mut(value, parent)?.as_object_mut()?.remove(&unescape(last))
}

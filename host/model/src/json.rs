//! The lossless JSON value that all MCP traffic is held in.
//!
//! Member order and number text survive; duplicate keys, lone surrogates, invalid UTF-8 and excess depth are refused
//! while parsing, so that no later reader can see the text differently.

mod number;
mod object;
mod parse;
mod pointer;
mod write;

pub use number::Number;
pub use object::Object;
pub use parse::{Limits, ParseError, ParseErrorKind, parse, parse_str, parse_with};
pub use pointer::{escape, push_index, push_key};

/// A JSON value that keeps member order and number text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as its text.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Returns the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// Returns the number as an unsigned integer, if it is one and fits. `12.0` counts as 12.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// Returns the number as an integer, if it is one and fits. `-12.0` counts as -12.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// Returns the array, if it is one.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// Returns the object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the object for writing, if it is one.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns true for `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns how many bytes its texts have, keys included, or a number that is not less than `most` where they have as many.
    pub fn text_bytes(&self, most: usize) -> usize {
        let add = |sum: usize, more: &dyn Fn(usize) -> usize| if sum < most { sum + more(most - sum) } else { sum };
        match self {
            Self::String(text) => text.len(),
            Self::Array(items) => items.iter().fold(0, |sum, item| add(sum, &|left| item.text_bytes(left))),
            Self::Object(object) => {
                object.iter().fold(0, |sum, (key, member)| add(sum, &|left| key.len() + member.text_bytes(left)))
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
        }
    }

    /// Returns the member of that name, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// Returns what the JSON pointer (RFC 6901) names.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        pointer::find(self, pointer)
    }

    /// Returns what the JSON pointer (RFC 6901) names, for writing.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        pointer::find_mut(self, pointer)
    }

    /// Removes the member that the JSON pointer names and returns it. Elements of arrays are not removed: that would
    /// rename those behind.
    pub fn remove_pointer(&mut self, pointer: &str) -> Option<Value> {
        pointer::remove(self, pointer)
    }

    /// Returns the compact JSON text.
    pub fn to_json(&self) -> String {
        write::to_string(self)
    }

    /// Appends the compact JSON text.
    pub fn write_to(&self, buffer: &mut Vec<u8>) {
        write::append(self, buffer);
    }

    /// Returns the canonical text that digests are taken of: members sorted by key, numbers in canonical form.
    pub fn to_canonical(&self) -> String {
        write::to_canonical(self)
    }

    /// Returns the digest of the canonical text.
    pub fn digest(&self) -> crate::Digest {
        crate::Digest::of(self.to_canonical().as_bytes())
    }
}

/// Appends the JSON text of a string: for writers of envelopes around values that are only borrowed.
pub fn write_string(text: &str, buffer: &mut Vec<u8>) {
    write::append_text(text, buffer);
}

/// A value is written as its JSON text, so that any format keeps it as it is.
impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_json())
    }
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_str(&text).map_err(serde::de::Error::custom)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

/// Builds an [`Object`] from `key => value` pairs; values are anything that converts into [`Value`].
///
/// ```
/// use portcullis_model::{json::Value, object};
/// let object = object! { "name" => "echo", "count" => 3_u64, "nested" => object! { "ok" => true } };
/// assert_eq!(Value::from(object).to_json(), r#"{"name":"echo","count":3,"nested":{"ok":true}}"#);
/// ```
#[macro_export]
macro_rules! object {
    ($($key:expr => $value:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "an empty object changes nothing")]
        let mut object = $crate::json::Object::new();
        $(object.insert($key, $crate::json::Value::from($value));)*
        object
    }};
}

#[cfg(test)]
mod tests;

//! From YAML to the value that policies are handed, within bounds.
//!
//! Packs and settings come from files that anybody may have written: aliases, depth, size and count are bounded here,
//! and what JSON does not have is refused instead of guessed.

use std::fmt;

use portcullis_model::json::{Number, Object, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The largest text. The largest list of indicators that is published has 2 MB.
pub const LARGEST_YAML: usize = 8 * 1024 * 1024;

/// Levels of maps and lists.
const DEEPEST: usize = 32;

/// Values of one text, those that an alias repeats included.
const MOST_VALUES: usize = 500_000;

/// Members of one map: keys are told apart by comparing each with all.
const MOST_MEMBERS: usize = 10_000;

/// A text is no value that is accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// It is longer than what is read.
    #[error("the text has {0} bytes; at most {LARGEST_YAML} are read")]
    TooLarge(usize),
    /// It is no UTF-8.
    #[error("the text is not UTF-8")]
    Encoding(#[source] std::str::Utf8Error),
    /// It is no YAML within the bounds.
    #[error("the text is no YAML that is accepted")]
    Yaml(#[source] serde_yaml::Error),
}

/// Parses a text. An empty one is `null`.
pub fn parse_yaml(bytes: &[u8]) -> Result<Value, YamlError> {
    if bytes.len() > LARGEST_YAML {
        return Err(YamlError::TooLarge(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(YamlError::Encoding)?;
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let mut values = 0;
    let seed = Seed { depth: DEEPEST, values: &mut values };
    seed.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(YamlError::Yaml)
}

struct Seed<'a> {
    /// Levels that may still be opened.
    depth: usize,
    values: &'a mut usize,
}

impl Seed<'_> {
    fn inner(&mut self) -> Seed<'_> {
        Seed { depth: self.depth - 1, values: self.values }
    }

    fn count<E: Error>(&mut self) -> Result<(), E> {
        *self.values += 1;
        if *self.values > MOST_VALUES { Err(E::custom("it has too many values")) } else { Ok(()) }
    }

    fn enter<E: Error>(&self) -> Result<(), E> {
        if self.depth == 0 { Err(E::custom("it nests too deeply")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value that JSON has, with texts as keys")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("it has a number that is none"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self.inner())? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut object = Object::new();
        while let Some(key) = access.next_key::<String>()? {
            if object.len() >= MOST_MEMBERS {
                return Err(A::Error::custom("a map has too many members"));
            }
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("a map has the key `{}` twice", key.escape_debug())));
            }
            let value = access.next_value_seed(self.inner())?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn parsed(text: &str) -> String {
        parse_yaml(text.as_bytes()).unwrap().to_json()
    }

    #[test]
    fn order_and_kinds_are_kept() {
        assert_eq!(
            parsed("b: 1\na: [true, null, -2, 1.5, text, '7']\nc: {x: y}"),
            r#"{"b":1,"a":[true,null,-2,1.5,"text","7"],"c":{"x":"y"}}"#
        );
        assert_eq!(parsed(""), "null");
    }

    #[test]
    fn a_key_may_not_stand_twice() {
        assert!(matches!(parse_yaml(b"a: 1\na: 2"), Err(YamlError::Yaml(_))));
    }

    #[test]
    fn what_json_does_not_have_is_refused() {
        assert!(parse_yaml(b"a: .nan").is_err());
        assert!(parse_yaml(b"a: !tag x").is_err());
        assert!(parse_yaml(b"a: \xff").is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_yaml(nested(DEEPEST).as_bytes()).is_ok());
        assert!(parse_yaml(nested(DEEPEST + 1).as_bytes()).is_err());
        assert!(parse_yaml(nested(100_000).as_bytes()).is_err());
    }

    #[test]
    fn aliases_cannot_multiply_a_text() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let previous = vec![format!("*a{}", level - 1); 10].join(",");
            writeln!(text, "a{level}: &a{level} [{previous}]").unwrap();
        }
        assert!(parse_yaml(text.as_bytes()).is_err());
    }

    #[test]
    fn a_text_that_is_too_large_is_not_read() {
        assert!(matches!(parse_yaml(&vec![b'#'; LARGEST_YAML + 1]), Err(YamlError::TooLarge(_))));
    }
}

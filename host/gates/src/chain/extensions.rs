//! Extensions of several policies, joined to the strictest.

use portcullis_model::json::{Object, Value};

/// Joins further extensions into those that were heard before. Of a key that both have, the stricter value stays: the
/// smaller number, `false`, the elements that both lists have, the join of both objects. Other values that differ become
/// `null`, which no reader takes for a permission.
pub(crate) fn join(joined: &mut Object, further: Object) {
    for (key, value) in further {
        match joined.get_mut(&key) {
            Some(known) => {
                let before = std::mem::replace(known, Value::Null);
                *known = stricter(before, value);
            }
            None => {
                joined.insert(key, value);
            }
        }
    }
}

fn stricter(left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_f64(), right.as_f64()) {
            (Some(first), Some(second)) => Value::Number(if second < first { right } else { left }),
            _ => Value::Null,
        },
        (Value::Bool(left), Value::Bool(right)) => Value::Bool(left && right),
        (Value::Array(left), Value::Array(right)) => {
            Value::Array(left.into_iter().filter(|item| right.contains(item)).collect())
        }
        (Value::Object(mut left), Value::Object(right)) => {
            join(&mut left, right);
            Value::Object(left)
        }
        (left, right) if left == right => left,
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn joined(left: &str, right: &str) -> String {
        let object = |text: &str| parse_str(text).unwrap().as_object().unwrap().clone();
        let mut joined = object(left);
        join(&mut joined, object(right));
        Value::Object(joined).to_json()
    }

    #[test]
    fn the_stricter_of_two_values_stays() {
        assert_eq!(joined(r#"{"max":4096,"a":1}"#, r#"{"max":512,"b":2}"#), r#"{"max":512,"a":1,"b":2}"#);
        assert_eq!(joined(r#"{"models":["a","b"]}"#, r#"{"models":["b","c"]}"#), r#"{"models":["b"]}"#);
        assert_eq!(joined(r#"{"tools":true}"#, r#"{"tools":false}"#), r#"{"tools":false}"#);
        assert_eq!(joined(r#"{"in":{"max":1}}"#, r#"{"in":{"max":0}}"#), r#"{"in":{"max":0}}"#);
    }

    #[test]
    fn values_that_contradict_each_other_permit_nothing() {
        assert_eq!(joined(r#"{"mode":"a"}"#, r#"{"mode":"b"}"#), r#"{"mode":null}"#);
        assert_eq!(joined(r#"{"mode":true}"#, r#"{"mode":1}"#), r#"{"mode":null}"#);
    }
}

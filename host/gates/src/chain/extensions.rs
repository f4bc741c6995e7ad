//! Extensions of several policies, joined to the strictest.

use portcullis_model::json::{Object, Value};

/// Two policies said what cannot both be kept to.
///
/// There is no stricter of two values of different types, of two different texts, or of two lists that have nothing in
/// common. Whatever the host chose, one policy could void the limit of another by it; so the passage is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policies contradict each other about `{key}`")]
pub(crate) struct Contradiction {
    /// The key, without those that hold it.
    key: String,
}

/// Joins further extensions into those that were heard before. Of a key that both have, the stricter value stays: the
/// smaller number, `false`, the elements that both lists have, the join of both objects. `null` says nothing.
pub(crate) fn join(joined: &mut Object, further: Object) -> Result<(), Contradiction> {
    for (key, value) in further {
        match joined.get_mut(&key) {
            Some(known) => {
                let before = std::mem::replace(known, Value::Null);
                *known = stricter(&key, before, value)?;
            }
            None => {
                joined.insert(key, value);
            }
        }
    }
    Ok(())
}

fn stricter(key: &str, left: Value, right: Value) -> Result<Value, Contradiction> {
    let contradiction = || Contradiction { key: crate::display::escaped(key, crate::display::LONGEST_NAME) };
    match (left, right) {
        (Value::Null, other) | (other, Value::Null) => Ok(other),
        (Value::Number(left), Value::Number(right)) => match (left.as_f64(), right.as_f64()) {
            (Some(first), Some(second)) => Ok(Value::Number(if second < first { right } else { left })),
            _ => Err(contradiction()),
        },
        (Value::Bool(left), Value::Bool(right)) => Ok(Value::Bool(left && right)),
        (Value::Array(left), Value::Array(right)) => {
            let had_any = !left.is_empty() && !right.is_empty();
            let common: Vec<Value> = left.into_iter().filter(|item| right.contains(item)).collect();
            if common.is_empty() && had_any { Err(contradiction()) } else { Ok(Value::Array(common)) }
        }
        (Value::Object(mut left), Value::Object(right)) => {
            join(&mut left, right)?;
            Ok(Value::Object(left))
        }
        (left, right) if left == right => Ok(left),
        _ => Err(contradiction()),
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn joined(left: &str, right: &str) -> Result<String, Contradiction> {
        let object = |text: &str| parse_str(text).unwrap().as_object().unwrap().clone();
        let mut joined = object(left);
        join(&mut joined, object(right))?;
        Ok(Value::Object(joined).to_json())
    }

    #[test]
    fn the_stricter_of_two_values_stays() {
        for (left, right, both) in [
            (r#"{"max":4096,"a":1}"#, r#"{"max":512,"b":2}"#, r#"{"max":512,"a":1,"b":2}"#),
            (r#"{"models":["a","b"]}"#, r#"{"models":["b","c"]}"#, r#"{"models":["b"]}"#),
            (r#"{"tools":true}"#, r#"{"tools":false}"#, r#"{"tools":false}"#),
            (r#"{"in":{"max":1}}"#, r#"{"in":{"max":0}}"#, r#"{"in":{"max":0}}"#),
            (r#"{"max":null}"#, r#"{"max":3}"#, r#"{"max":3}"#),
            (r#"{"max":3}"#, r#"{"max":null}"#, r#"{"max":3}"#),
        ] {
            assert_eq!(joined(left, right).as_deref(), Ok(both));
        }
    }

    #[test]
    fn no_policy_voids_the_limit_of_another_by_contradicting_it() {
        for (limit, other) in [
            (r#"{"a":{"max":1}}"#, r#"{"a":{"max":"x"}}"#),
            (r#"{"a":{"max":1}}"#, r#"{"a":[]}"#),
            (r#"{"mode":"a"}"#, r#"{"mode":"b"}"#),
            (r#"{"models":["a"]}"#, r#"{"models":["b"]}"#),
            (r#"{"max":1}"#, r#"{"max":1e999}"#),
        ] {
            assert!(joined(limit, other).is_err(), "{limit} {other}");
            assert!(joined(other, limit).is_err(), "{other} {limit}");
        }
    }
}

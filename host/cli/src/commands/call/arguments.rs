//! The arguments of a call, as a shell has them.

use std::io::Read as _;

use portcullis_model::json::{Object, Value, parse_str};

use crate::arguments::Call;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Standard input is read up to this size: what a message may have.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Reads the arguments of a call. What a value means depends on what the schema of the tool asks for.
pub(super) fn read(call: &Call, schema: &Value) -> Result<Object, Failure> {
    match &call.arguments {
        Some(json) if json == "-" => {
            let mut text = String::new();
            let read = std::io::stdin().lock().take(LONGEST).read_to_string(&mut text);
            read.or_exit(Exit::Usage, "reading the arguments from standard input")?;
            object(&text)
        }
        Some(json) => object(json),
        None => pairs(&call.pairs, schema),
    }
}

fn object(text: &str) -> Result<Object, Failure> {
    match parse_str(text).or_exit(Exit::Usage, "reading the arguments")? {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Failure::new(Exit::Usage, "the arguments are no JSON object").hint("write `{\"key\": \"value\"}`"))
        }
    }
}

fn pairs(pairs: &[String], schema: &Value) -> Result<Object, Failure> {
    let mut arguments = Object::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Failure::new(Exit::Usage, format!("`{pair}` is no argument")).hint("write `key=value`"));
        };
        let property = schema.get("properties").and_then(|properties| properties.get(key));
        if arguments.insert(key, value(text, property)).is_some() {
            let message = format!("`{key}` is given twice");
            return Err(Failure::new(Exit::Usage, message).hint(format!("write a list as `{key}=[1, 2]`")));
        }
    }
    Ok(arguments)
}

/// Returns the value that a text stands for: JSON of a type that is asked for, else the text.
fn value(text: &str, property: Option<&Value>) -> Value {
    let types: Vec<&str> = match property.and_then(|property| property.get("type")) {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    let parsed = parse_str(text).ok();
    let fits = |value: &Value| {
        types.is_empty() && !matches!(value, Value::String(_))
            || types.iter().any(|wanted| match value {
                Value::Null => *wanted == "null",
                Value::Bool(_) => *wanted == "boolean",
                Value::Number(_) => matches!(*wanted, "number" | "integer"),
                Value::String(_) => false,
                Value::Array(_) => *wanted == "array",
                Value::Object(_) => *wanted == "object",
            })
    };
    parsed.filter(fits).unwrap_or_else(|| Value::from(text))
}

#[cfg(test)]
mod tests {
    use portcullis_model::object;

    use super::*;

    #[test]
    fn a_value_is_what_the_schema_asks_for_and_else_a_text() {
        let typed = |name: &str| object! { "type" => name };
        let schema: Value = object! { "properties" => object! {
            "text" => typed("string"), "count" => typed("integer"),
            "list" => typed("array"),
            "either" => object! { "type" => vec![Value::from("string"), "null".into()] },
        } }
        .into();
        let texts =
            ["text=12", "count=12", "list=[1, 2]", "either=null", "free=true", "word=yes", "quoted=\"a\"", "url=a=b"];
        let arguments = pairs(&texts.map(str::to_owned), &schema).unwrap();
        let expected = "{\"text\":\"12\",\"count\":12,\"list\":[1,2],\"either\":null,\"free\":true,\"word\":\"yes\",\
                        \"quoted\":\"\\\"a\\\"\",\"url\":\"a=b\"}";
        assert_eq!(Value::from(arguments).to_json(), expected);
    }

    #[test]
    fn what_is_no_argument_is_a_usage_error() {
        for texts in [&["a"][..], &["a=1", "a=2"]] {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(pairs(&texts, &Value::Null).unwrap_err().exit(), Exit::Usage);
        }
        assert_eq!(object("[1]").unwrap_err().exit(), Exit::Usage);
    }
}

//! Structured content and a text that say the same.

use portcullis_config::Repeated;
use portcullis_model::json::{Value, parse_str};

/// Leaves out the one or the other of a pair that says the same, as the operator wants. Numbers are the same where their
/// canonical text is, and members in any order.
pub(super) fn send_once(result: &mut Value, repeated: Repeated) {
    if repeated == Repeated::Both {
        return;
    }
    let Some(result) = result.as_object_mut() else { return };
    let Some(structured) = result.get("structuredContent").map(Value::to_canonical) else { return };
    let says_the_same = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str).filter(|text| text.len() >= 2);
        block.get("type").and_then(Value::as_str) == Some("text")
            && text.and_then(|text| parse_str(text).ok()).is_some_and(|value| value.to_canonical() == structured)
    };
    let Some(Value::Array(blocks)) = result.get_mut("content") else { return };
    if !blocks.iter().any(says_the_same) {
        return;
    }
    if repeated == Repeated::Text {
        result.remove("structuredContent");
    } else {
        blocks.retain(|block| !says_the_same(block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(result: &str, repeated: Repeated) -> String {
        let mut result = parse_str(result).unwrap();
        send_once(&mut result, repeated);
        result.to_json()
    }

    const TWICE: &str =
        r#"{"content":[{"type":"text","text":"{\"b\":2,\"a\":1.50}"}],"structuredContent":{"a":1.50,"b":2}}"#;

    #[test]
    fn what_is_there_twice_is_passed_on_unless_the_operator_wants_one_of_both() {
        assert_eq!(sent(TWICE, Repeated::Both), TWICE);
        assert_eq!(sent(TWICE, Repeated::Structured), r#"{"content":[],"structuredContent":{"a":1.50,"b":2}}"#);
        assert_eq!(sent(TWICE, Repeated::Text), r#"{"content":[{"type":"text","text":"{\"b\":2,\"a\":1.50}"}]}"#);
    }

    #[test]
    fn what_differs_in_anything_stays_whole() {
        for result in [
            r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":2}}"#,
            r#"{"content":[{"type":"text","text":"a: 1"}],"structuredContent":{"a":1}}"#,
            r#"{"content":[{"type":"resource","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#,
            r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#,
            r#"{"content":{"type":"text"},"structuredContent":{}}"#,
            "[]",
        ] {
            for repeated in [Repeated::Text, Repeated::Structured] {
                assert_eq!(sent(result, repeated), result);
            }
        }
    }
}

//! What a model is told of a call.

use portcullis_model::json::{Value, parse_str};
use portcullis_model::object;

/// What is told of an error that says nothing.
const SILENT: &str = "the tool failed and did not say why";

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// True where the call failed or was refused.
    pub is_error: bool,
    /// The texts of the result, one a line; for what is no text, a line that names it.
    pub text: String,
    /// The result as it came, images and all; nothing where the call was not answered by one.
    pub result: Option<Value>,
}

impl Outcome {
    pub(super) fn of_result(result: Value) -> Self {
        let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
        let blocks = result.get("content").and_then(Value::as_array).unwrap_or_default();
        let texts: Vec<String> = blocks.iter().filter_map(block).collect();
        Self { is_error, text: texts.join("\n"), result: Some(result) }
    }

    pub(super) fn of_error(message: &str) -> Self {
        Self { is_error: true, text: message.to_owned(), result: None }
    }

    /// Returns what an agent gives its model: `{"result": …}` or `{"error": …}`.
    ///
    /// The result is the text. Structured content takes its place where there is no text, and stands beside it as
    /// `structuredContent` where it says something else.
    pub fn envelope(&self) -> Value {
        if self.is_error {
            let text = if self.text.trim().is_empty() { SILENT } else { &self.text };
            return object! { "error" => text }.into();
        }
        let structured = self.result.as_ref().and_then(|result| result.get("structuredContent"));
        match structured.filter(|structured| !structured.is_null()) {
            Some(structured) if self.text.is_empty() => object! { "result" => structured.clone() }.into(),
            Some(structured) if !self.says(structured) => {
                object! { "result" => self.text.as_str(), "structuredContent" => structured.clone() }.into()
            }
            Some(_) | None => object! { "result" => self.text.as_str() }.into(),
        }
    }

    /// Returns true where the text is that value.
    fn says(&self, structured: &Value) -> bool {
        parse_str(&self.text).is_ok_and(|text| text.to_canonical() == structured.to_canonical())
    }
}

/// Returns the text of a block, or a line that names what it is; nothing where it is empty.
fn block(block: &Value) -> Option<String> {
    let text = |pointer: &str| block.pointer(pointer).and_then(Value::as_str);
    let size = |pointer: &str| {
        // Base64 has four characters for three bytes (RFC 4648 §4).
        text(pointer).map_or(0, |data| data.trim_end_matches('=').len() * 3 / 4)
    };
    let kind = text("/type").unwrap_or_default();
    let shown = match kind {
        "text" => text("/text").unwrap_or_default().to_owned(),
        "image" | "audio" => {
            format!("[{kind}, {}, {} bytes]", text("/mimeType").unwrap_or("unknown type"), size("/data"))
        }
        "resource" => text("/resource/text").map_or_else(
            || {
                let name = text("/resource/uri").unwrap_or("unnamed");
                format!("[resource {name}, {} bytes]", size("/resource/blob"))
            },
            str::to_owned,
        ),
        "resource_link" => format!("[link to the resource {}]", text("/uri").unwrap_or("unnamed")),
        "" => "[content of an unknown kind]".to_owned(),
        other => format!("[content of the kind {other}]"),
    };
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(result: &str) -> String {
        Outcome::of_result(parse_str(result).unwrap()).envelope().to_json()
    }

    #[test]
    fn texts_are_the_result_and_what_is_no_text_is_named() {
        let result = r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":""},
            {"type":"resource","resource":{"uri":"file:///a","text":"two"}},
            {"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"audio","data":"AA=="},
            {"type":"resource","resource":{"uri":"file:///b","blob":"AAAAAAA="}},
            {"type":"resource_link","uri":"file:///c"},{"type":"hologram"},3]}"#;
        assert_eq!(
            envelope(result),
            r#"{"result":"one\ntwo\n[image, image/png, 3 bytes]\n[audio, unknown type, 1 bytes]\n[resource file:///b, 5 bytes]\n[link to the resource file:///c]\n[content of the kind hologram]\n[content of an unknown kind]"}"#
        );
    }

    #[test]
    fn structured_content_is_told_once() {
        let with = |content: &str| envelope(&format!(r#"{{"content":{content},"structuredContent":{{"a":1,"b":2}}}}"#));
        assert_eq!(with("[]"), r#"{"result":{"a":1,"b":2}}"#);
        assert_eq!(with(r#"[{"type":"text","text":"{\"b\": 2, \"a\": 1}"}]"#), r#"{"result":"{\"b\": 2, \"a\": 1}"}"#);
        assert_eq!(
            with(r#"[{"type":"text","text":"three"}]"#),
            r#"{"result":"three","structuredContent":{"a":1,"b":2}}"#
        );
    }

    #[test]
    fn an_error_says_something_always() {
        assert_eq!(envelope(r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#), r#"{"error":"no"}"#);
        assert_eq!(envelope(r#"{"isError":true}"#), format!(r#"{{"error":"{SILENT}"}}"#));
        assert_eq!(Outcome::of_error("gone").envelope().to_json(), r#"{"error":"gone"}"#);
        assert_eq!(envelope("{}"), r#"{"result":""}"#);
    }
}

//! What a server was used for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use portcullis_model::CallKind;
use portcullis_model::json::{Object, Value};

use super::{Answer, LinkError};
use crate::status::Usage as Shown;

/// So many tools are counted by name: more than the largest public servers have. Calls of others count together.
const MOST_TOOLS: usize = 1_000;
/// English text and code have about four bytes to a token with the tokenizers in use. It is an estimate: what a client
/// makes of a result, and by which tokenizer, is not seen here.
const BYTES_PER_TOKEN: u64 = 4;

/// Counts of one server, from the start of the gateway on.
#[derive(Debug, Default)]
pub(crate) struct Usage(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    shown: Shown,
    bytes_sent: u64,
    bytes_received: u64,
}

impl Usage {
    /// Counts a call that was sent.
    pub(crate) fn note_sent(&self, kind: CallKind, name: &str, params: &Value) {
        let bytes = text_bytes(params);
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.bytes_sent = counted.bytes_sent.saturating_add(bytes);
        let shown = &mut counted.shown;
        shown.requests += 1;
        if kind == CallKind::Tool {
            count_tool(&mut shown.tools, &mut shown.other_tools, name);
        }
    }

    /// Counts what came of it.
    pub(crate) fn note_outcome(&self, outcome: &Result<Answer, LinkError>) {
        let bytes = match outcome {
            Ok(Ok(result)) => text_bytes(result),
            Ok(Err(error)) => error.message().len() as u64,
            Err(_) => 0,
        };
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.bytes_received = counted.bytes_received.saturating_add(bytes);
        match outcome {
            Ok(Ok(result)) if result.get("isError").and_then(Value::as_bool) != Some(true) => {}
            Ok(_) => counted.shown.errors += 1,
            Err(_) => counted.shown.unanswered += 1,
        }
    }

    /// Counts a sampling request that the provider of the config answered.
    pub(crate) fn note_sampled(&self, tokens: u64, uses_tools: bool) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sampling = &mut counted.shown.sampling;
        sampling.requests += 1;
        sampling.tokens = sampling.tokens.saturating_add(tokens);
        sampling.tool_uses += u64::from(uses_tools);
    }

    /// Counts one that it did not answer.
    pub(crate) fn note_not_sampled(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).shown.sampling.errors += 1;
    }

    /// Returns the counts.
    pub(crate) fn shown(&self) -> Shown {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Shown {
            tokens_sent: counted.bytes_sent / BYTES_PER_TOKEN,
            tokens_received: counted.bytes_received / BYTES_PER_TOKEN,
            ..counted.shown.clone()
        }
    }
}

fn count_tool(tools: &mut BTreeMap<String, u64>, others: &mut u64, name: &str) {
    if let Some(count) = tools.get_mut(name) {
        *count += 1;
    } else if tools.len() < MOST_TOOLS {
        tools.insert(name.to_owned(), 1);
    } else {
        *others += 1;
    }
}

/// Returns the bytes of text in a value, without what is no text for a model: quotes, commas, encoded images.
fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.as_str().len() as u64,
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(object) => object.iter().map(|(key, value)| key.len() as u64 + member(object, key, value)).sum(),
    }
}

/// Images, audio and blobs are Base64 beside their type; clients hand them over as what they are.
fn member(object: &Object, key: &str, value: &Value) -> u64 {
    let is_binary = matches!(key, "data" | "blob") && object.get("mimeType").is_some() && value.as_str().is_some();
    if is_binary { 0 } else { text_bytes(value) }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;
    use crate::jsonrpc::ErrorObject;

    #[test]
    fn text_is_counted_and_encoded_images_are_not() {
        let value = parse_str(r#"{"ab":["cde",12.50,true],"i":{"mimeType":"x","data":"AAAAAAAAAAAA"}}"#).unwrap();
        assert_eq!(text_bytes(&value), 2 + 3 + 5 + 4 + 1 + 8 + 1 + 4);
        assert_eq!(text_bytes(&parse_str(r#"{"data":"AAAA"}"#).unwrap()), 8);
    }

    #[test]
    fn an_error_that_was_answered_is_told_from_no_answer() {
        let usage = Usage::default();
        let params = Value::from("12345678");
        for _ in 0..4 {
            usage.note_sent(CallKind::Tool, "t", &params);
        }
        usage.note_sent(CallKind::Resource, "file:///a", &params);
        let failed = parse_str(r#"{"isError":true,"content":[]}"#).unwrap();
        usage.note_outcome(&Ok(Ok(Value::from("1234"))));
        usage.note_outcome(&Ok(Ok(failed)));
        usage.note_outcome(&Ok(Err(ErrorObject::new(-1, "no"))));
        usage.note_outcome(&Err(LinkError::Expired));
        let shown = usage.shown();
        assert_eq!((shown.requests, shown.errors, shown.unanswered), (5, 2, 1));
        assert_eq!(shown.tokens_sent, 10);
        assert_eq!(shown.tools, BTreeMap::from([("t".to_owned(), 4)]));
    }

    #[test]
    fn tools_beyond_the_bound_count_together() {
        let usage = Usage::default();
        for number in 0..MOST_TOOLS + 5 {
            usage.note_sent(CallKind::Tool, &number.to_string(), &Value::Null);
        }
        let shown = usage.shown();
        assert_eq!((shown.tools.len(), shown.other_tools), (MOST_TOOLS, 5));
    }
}

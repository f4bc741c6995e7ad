//! What a result of the one era has that a client of the other does not know.

use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, Era, object};

use super::{Answer, Greeting};
use crate::jsonrpc::code;

/// Members of a result that only the stateless era has (MCP 2026-07-28, results and caching).
const OF_THE_ERA: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// With what a server of the stateless era signs each result, in `_meta`; in the earlier one it says so once, at the start.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Fits what a server answered to a call of that kind to the era of the client. Only members that an era defines go; a server
/// of the earlier era that uses such a name means something else by it.
pub(super) fn fit(answer: Answer, kind: CallKind, client: Era, server: &Greeting) -> Answer {
    match answer {
        // Beside its URI such a request has nothing that could be invalid. The way back is `Dress`'s.
        Err(error)
            if kind == CallKind::Resource
                && client == Era::Initialize
                && server.is_stateless()
                && error.code() == code::INVALID_PARAMS =>
        {
            Err(error.with_code(code::RESOURCE_NOT_FOUND))
        }
        Ok(Value::Object(mut result)) if client == Era::Initialize && server.is_stateless() => {
            result.retain(|key, _| !OF_THE_ERA.contains(&key));
            remove_signature(&mut result);
            keep_structured_objects(&mut result);
            Ok(Value::Object(result))
        }
        other => other,
    }
}

/// Removes the signature, and a `_meta` that held nothing else.
fn remove_signature(result: &mut Object) {
    let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut) else {
        return;
    };
    if meta.remove(SERVER_INFO).is_some() && meta.is_empty() {
        result.remove("_meta");
    }
}

/// In the earlier era structured content is an object. Any other goes; the model has it as text, from the server or else
/// from here.
fn keep_structured_objects(result: &mut Object) {
    if result.get("structuredContent").is_none_or(|content| content.as_object().is_some()) {
        return;
    }
    let structured = result.remove("structuredContent").unwrap_or(Value::Null);
    if result.get("content").and_then(Value::as_array).is_none_or(<[Value]>::is_empty) {
        let text: Value = object! { "type" => "text", "text" => structured.to_json() }.into();
        result.insert("content", vec![text]);
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;
    use crate::jsonrpc::ErrorObject;

    fn greeting(revision: &str) -> Greeting {
        Greeting {
            revision: revision.to_owned(),
            implementation: None,
            capabilities: Object::new().into(),
            instructions: None,
        }
    }

    fn fitted(result: &str, client: Era, revision: &str) -> String {
        let answer = Ok(parse_str(result).unwrap());
        fit(answer, CallKind::Tool, client, &greeting(revision)).unwrap().to_json()
    }

    #[test]
    fn a_resource_that_a_stateless_server_does_not_have_is_told_by_the_code_of_the_clients_era() {
        let told = |kind, client, revision: &str, code| {
            let error = ErrorObject::new(code, "x").with_data(parse_str(r#"{"uri":"a"}"#).unwrap());
            let fitted = fit(Err(error), kind, client, &greeting(revision)).unwrap_err();
            assert_eq!(fitted.data().unwrap().to_json(), r#"{"uri":"a"}"#);
            fitted.code()
        };
        let (new, old) = ("2026-07-28", "2025-11-25");
        assert_eq!(told(CallKind::Resource, Era::Initialize, new, code::INVALID_PARAMS), code::RESOURCE_NOT_FOUND);
        assert_eq!(told(CallKind::Resource, Era::Initialize, old, code::INVALID_PARAMS), code::INVALID_PARAMS);
        assert_eq!(told(CallKind::Resource, Era::Stateless, new, code::INVALID_PARAMS), code::INVALID_PARAMS);
        assert_eq!(told(CallKind::Resource, Era::Initialize, new, code::INTERNAL_ERROR), code::INTERNAL_ERROR);
        for kind in [CallKind::Tool, CallKind::Prompt, CallKind::Completion] {
            assert_eq!(told(kind, Era::Initialize, new, code::INVALID_PARAMS), code::INVALID_PARAMS);
        }
    }

    #[test]
    fn members_of_the_stateless_era_do_not_reach_an_earlier_client() {
        let result = r#"{"resultType":"complete","z":1.0,"ttlMs":5,"cacheScope":"public","content":[]}"#;
        assert_eq!(fitted(result, Era::Initialize, "2026-07-28"), r#"{"z":1.0,"content":[]}"#);
        assert_eq!(fitted(result, Era::Stateless, "2026-07-28"), result);
        assert_eq!(fitted(result, Era::Initialize, "2025-11-25"), result);
    }

    #[test]
    fn the_signature_of_a_stateless_server_does_not_reach_an_earlier_client() {
        let signed = r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#;
        assert_eq!(fitted(signed, Era::Initialize, "2026-07-28"), r#"{"content":[]}"#);
        assert_eq!(fitted(signed, Era::Stateless, "2026-07-28"), signed);
        let more = r#"{"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#;
        assert_eq!(fitted(more, Era::Initialize, "2026-07-28"), r#"{"_meta":{"a":1}}"#);
        let empty = r#"{"_meta":{}}"#;
        assert_eq!(fitted(empty, Era::Initialize, "2026-07-28"), empty);
    }

    #[test]
    fn structured_content_that_is_no_object_is_left_as_text() {
        let with = |content: &str| format!(r#"{{"content":{content},"structuredContent":[1.0,2]}}"#);
        assert_eq!(
            fitted(&with("[]"), Era::Initialize, "2026-07-28"),
            r#"{"content":[{"type":"text","text":"[1.0,2]"}]}"#
        );
        let text = r#"[{"type":"text","text":"its own"}]"#;
        assert_eq!(fitted(&with(text), Era::Initialize, "2026-07-28"), format!(r#"{{"content":{text}}}"#));
        let object = r#"{"structuredContent":{"a":1}}"#;
        assert_eq!(fitted(object, Era::Initialize, "2026-07-28"), object);
    }
}

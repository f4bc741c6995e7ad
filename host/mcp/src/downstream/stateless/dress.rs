//! What the era adds to a result, and how it writes errors.

use portcullis_model::json::Value;
use portcullis_model::{CallKind, ResultKind, object};

use crate::downstream::{Reply, server_info};
use crate::jsonrpc::{ErrorObject, Id, Rewrite, code, write_error, write_result_with};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A list or what `server/discover` says is good for so long. Short, since a policy may withdraw what was listed;
/// `subscriptions/listen` tells of changes sooner.
const OWN_FRESH: u64 = 5_000;

/// What the era adds to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dress {
    /// For how many milliseconds a client may keep the result, where nobody said otherwise; nothing where it is of a kind
    /// that is not kept.
    fresh: Option<u64>,
    /// True where the gateway itself made the result.
    own: bool,
}

impl Dress {
    /// The result of a call.
    pub(crate) fn of_call(kind: CallKind) -> Self {
        let fresh = match kind {
            CallKind::Resource => Some(0),
            CallKind::Tool | CallKind::Prompt | CallKind::Completion => None,
        };
        Self { fresh, own: false }
    }

    /// What is told of a task.
    pub(crate) fn of_task() -> Self {
        Self { fresh: None, own: false }
    }

    /// A list, or what the gateway says of itself; not to be kept while servers are still starting.
    pub(crate) fn own(settled: bool) -> Self {
        Self { fresh: Some(if settled { OWN_FRESH } else { 0 }), own: true }
    }

    /// Returns the reply in the form of the era.
    pub(crate) fn put_on(self, reply: Reply) -> Reply {
        Reply::Dressed(Box::new(reply), self)
    }

    /// Appends the response.
    pub(crate) fn write(self, reply: &Reply, id: &Id, buffer: &mut Vec<u8>) {
        match reply {
            Reply::Cleared(message) if message.get().kind == ResultKind::Error => {
                match ErrorObject::from_value(message.get().document.clone()) {
                    Some(error) => write_error(buffer, Some(id), &of_the_era(error)),
                    None => reply.write(id, buffer),
                }
            }
            Reply::Cleared(message) => self.write_result(&message.get().document, id, buffer),
            Reply::Shared(result) => self.write_result(result, id, buffer),
            Reply::Own(result) => self.write_result(result, id, buffer),
            Reply::Error(error) => write_error(buffer, Some(id), &of_the_era(error.clone())),
            Reply::Dressed(..) => reply.write(id, buffer),
        }
    }

    fn write_result(self, result: &Value, id: &Id, buffer: &mut Vec<u8>) {
        let is_typed = result.get("resultType").and_then(Value::as_str).is_some();
        let complete = Value::from("complete");
        // A server of this era may have said how long its result is good for; anything but a count is not passed on.
        let fresh = self.fresh.map(|fresh| Value::from(result.get("ttlMs").and_then(Value::as_u64).unwrap_or(fresh)));
        let private = Value::from("private");
        let mut members: Vec<(&str, Option<&Value>)> = Vec::with_capacity(3);
        if !is_typed {
            members.push(("resultType", Some(&complete)));
        }
        if let Some(fresh) = &fresh {
            members.push(("ttlMs", Some(fresh)));
            // What one principal may see another may not.
            members.push(("cacheScope", Some(&private)));
        }
        let info = server_info();
        let info = [(SERVER_INFO, Some(&info))];
        let meta: &[(&str, Option<&Value>)] = if self.own { &info } else { &[] };
        write_result_with(buffer, id, result, Rewrite { members: &members, meta });
    }
}

/// Returns an error as this era writes it: two codes of earlier revisions must not be sent.
fn of_the_era(error: ErrorObject) -> ErrorObject {
    match error.code() {
        code::RESOURCE_NOT_FOUND => error.with_code(code::INVALID_PARAMS),
        // Where the client could have been asked it was; so it cannot be.
        code::URL_ELICITATION_REQUIRED => {
            let required = object! { "elicitation" => object! { "url" => object! {} } };
            error
                .with_code(code::MISSING_CLIENT_CAPABILITY)
                .with_data(object! { "requiredCapabilities" => required }.into())
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn written(dress: Dress, reply: Reply) -> String {
        let mut buffer = Vec::new();
        dress.put_on(reply).write(&Id::from(1), &mut buffer);
        let text = String::from_utf8(buffer).unwrap();
        text.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"#).unwrap().to_owned()
    }

    fn own(text: &str) -> Reply {
        Reply::Own(parse_str(text).unwrap())
    }

    #[test]
    fn a_result_is_marked_as_complete_and_otherwise_unchanged() {
        let text = written(Dress::of_call(CallKind::Tool), own(r#"{"x-b":1.0,"content":[],"_meta":{"a":1}}"#));
        assert_eq!(text, r#""result":{"x-b":1.0,"content":[],"_meta":{"a":1},"resultType":"complete"}}"#);
        let text = written(Dress::of_call(CallKind::Tool), own(r#"{"resultType":"complete","content":[]}"#));
        assert_eq!(text, r#""result":{"resultType":"complete","content":[]}}"#);
    }

    #[test]
    fn what_may_be_kept_says_for_how_long_and_is_private() {
        let text = written(Dress::of_call(CallKind::Resource), own(r#"{"contents":[]}"#));
        assert_eq!(text, r#""result":{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#);
        let text = written(Dress::of_call(CallKind::Resource), own(r#"{"ttlMs":9,"cacheScope":"public"}"#));
        assert_eq!(text, r#""result":{"ttlMs":9,"cacheScope":"private","resultType":"complete"}}"#);
        let text = written(Dress::of_call(CallKind::Resource), own(r#"{"ttlMs":-9}"#));
        assert_eq!(text, r#""result":{"ttlMs":0,"resultType":"complete","cacheScope":"private"}}"#);
    }

    #[test]
    fn a_list_names_the_gateway_and_is_not_kept_while_servers_start() {
        let text = written(Dress::own(false), own(r#"{"tools":[]}"#));
        assert!(text.contains(r#""ttlMs":0"#) && text.contains(r#""_meta":{"io.modelcontextprotocol/serverInfo":{"#));
        assert!(written(Dress::own(true), own(r#"{"tools":[]}"#)).contains(r#""ttlMs":5000"#));
    }

    #[test]
    fn codes_of_earlier_revisions_are_not_sent() {
        let dress = Dress::of_call(CallKind::Resource);
        let text = written(dress, Reply::Error(ErrorObject::new(-32_002, "no such resource")));
        assert_eq!(text, r#""error":{"code":-32602,"message":"no such resource"}}"#);
        let text = written(dress, Reply::Error(ErrorObject::new(-32_042, "open a page first")));
        assert!(
            text.contains(r#""code":-32021"#) && text.contains(r#""requiredCapabilities":{"elicitation":{"url":{}}}"#)
        );
    }
}

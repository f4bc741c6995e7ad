//! A server on two pipes that speaks the stateless era, or reacts to it as its mode says.
//!
//! It notes the method of each message on standard error, so that a test can tell what it was asked.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use portcullis_model::json::{Value, parse};

/// The modes of this server.
pub(crate) const MODES: [&str; 13] = [
    "stateless",
    "stateless-other",
    "stateless-picky",
    "stateless-once",
    "both-eras",
    "touchy",
    "ignores",
    "sluggish",
    "hesitant",
    "tells",
    "tells-briefly",
    "tells-nothing",
    "tells-tasks",
];

fn line(text: &str) {
    let mut output = std::io::stdout().lock();
    // The gateway may be gone; then there is nobody to talk to.
    let _ = output.write_all(format!("{text}\n").as_bytes()).and_then(|()| output.flush());
}

fn result(id: &str, result: &str) {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

fn error(id: &str, error: &str) {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
}

fn read() -> Option<Value> {
    let mut text = String::new();
    let count = std::io::stdin().lock().read_line(&mut text).ok()?;
    (count > 0).then(|| parse(text.trim().as_bytes()).unwrap())
}

pub(crate) fn main(mode: &str) -> ExitCode {
    let mut ids = Vec::new();
    while let Some(message) = read() {
        let method = message.get("method").and_then(Value::as_str).unwrap_or("an answer").to_owned();
        eprintln!("got {method}");
        if let Some(id) = message.pointer("/params/requestId") {
            eprintln!("cancelled {}", id.to_json());
        }
        let Some(id) = message.get("id").map(Value::to_json) else { continue };
        ids.push(id.clone());
        match (mode, method.as_str()) {
            ("stateless-other", "server/discover") => error(
                &id,
                r#"{"code":-32022,"message":"no","data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}"#,
            ),
            ("hesitant", "server/discover") if ids.len() == 1 => error(
                &id,
                r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}"#,
            ),
            ("both-eras", "server/discover") => error(
                &id,
                r#"{"code":-32022,"message":"no","data":{"supported":["2099-01-01","2025-06-18"],"requested":"x"}}"#,
            ),
            ("stateless-picky", "server/discover") => error(&id, r#"{"code":-32021,"message":"no"}"#),
            ("touchy", "server/discover") => return ExitCode::from(7),
            ("ignores", "server/discover") => {}
            ("both-eras" | "touchy" | "ignores", "initialize") => result(
                &id,
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}"#,
            ),
            ("stateless-once", "server/discover") if ids.len() == 1 => discover(&id),
            ("stateless" | "hesitant", "server/discover") => discover(&id),
            ("tells" | "tells-briefly" | "tells-nothing", "server/discover") => result(
                &id,
                r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"subscribe":true}}}"#,
            ),
            ("tells-tasks", "server/discover") => result(
                &id,
                r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#,
            ),
            ("tells" | "tells-briefly" | "tells-tasks", "subscriptions/listen") => {
                let declared = message.pointer("/params/_meta/io.modelcontextprotocol~1clientCapabilities/extensions");
                eprintln!("declares {}", declared.map(Value::to_json).unwrap_or_default());
                eprintln!("wanted {}", message.pointer("/params/notifications").unwrap().to_json());
                listen(&id);
                if mode == "tells-briefly" {
                    result(&id, r#"{"resultType":"complete"}"#);
                }
            }
            ("sluggish", "server/discover") => {
                std::thread::sleep(Duration::from_millis(1500));
                discover(&id);
            }
            (_, "tools/list") => result(&id, r#"{"resultType":"complete","tools":[{"name":"params"}],"ttlMs":1}"#),
            (_, "tools/call") => call(&id, message.get("params").unwrap(), &ids),
            _ => error(&id, r#"{"code":-32601,"message":"nf"}"#),
        }
    }
    ExitCode::SUCCESS
}

fn listen(id: &str) {
    let tag = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    line(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{}},{tag}}}}}"#
    ));
    line(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"a",{tag}}}}}"#));
}

fn discover(id: &str) {
    result(
        id,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{}},"instructions":"be brief","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}"#,
    );
}

fn call(id: &str, params: &Value, ids: &[String]) {
    let token = params.pointer("/_meta/progressToken").map_or("null".to_owned(), Value::to_json);
    match params.get("name").and_then(Value::as_str).unwrap() {
        "params" => result(id, &format!(r#"{{"resultType":"complete","params":{}}}"#, params.to_json())),
        "untyped" => result(id, r#"{"ok":1.0}"#),
        "odd-type" => result(id, r#"{"resultType":"task","taskId":"t"}"#),
        "no-type" => result(id, r#"{"resultType":7}"#),
        "both" => result(id, r#"{"ok":true}"#),
        "asks" => {
            line(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#);
            line(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
            line(r#"{"jsonrpc":"2.0","id":"m","method":"roots/list","params":5}"#);
            result(id, r#"{"asked":true}"#);
        }
        "progress" => {
            line(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            ));
            result(id, r#"{"ok":true}"#);
        }
        "ids" => result(id, &format!(r#"{{"ids":[{}]}}"#, ids.join(","))),
        // Wants what its arguments say, and answers with what the second round brings.
        "wants" if params.get("inputResponses").is_none() && params.get("requestState").is_none() => {
            let Some(Value::Object(mut wish)) = params.pointer("/arguments/wish").cloned() else { panic!("no wish") };
            wish.insert("resultType", "input_required");
            result(id, &Value::Object(wish).to_json());
        }
        "wants" => result(id, &format!(r#"{{"params":{}}}"#, params.to_json())),
        "insatiable" => {
            result(id, r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}"#);
        }
        "null-id" => line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#),
        "hang" => {}
        other => panic!("no such tool: {other}"),
    }
}

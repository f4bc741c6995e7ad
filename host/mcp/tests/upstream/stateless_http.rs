//! A server of the stateless era over HTTP. It refuses what the headers and the body say differently.

use portcullis_model::json::{Value, parse};

use crate::http_server::{Seen, UNTIL_CLOSED, events, json, response};

const META: &str = "io.modelcontextprotocol/";

fn refusal(id: &str, code: i64) -> Vec<String> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#);
    response("400 Bad Request", "Content-Type: application/json\r\n", &body)
}

fn result(id: &str, result: &str) -> Vec<String> {
    json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

pub(crate) fn answer(seen: &Seen, earlier: &[Seen]) -> Vec<String> {
    if seen.method != "POST" {
        return response("405 Method Not Allowed", "", "");
    }
    let message = parse(seen.body.as_bytes()).unwrap();
    let id = message.get("id").unwrap().to_json();
    let method = message.get("method").and_then(Value::as_str).unwrap();
    let empty = Value::Null;
    let params = message.get("params").unwrap_or(&empty);
    let meta = |key: &str| params.get("_meta").and_then(|meta| meta.get(&format!("{META}{key}")));
    let version = meta("protocolVersion").and_then(Value::as_str);
    let header = |name: &str| seen.headers.get(name).map(String::as_str);
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
    if meta("clientCapabilities").is_none() || meta("clientInfo").is_none() {
        return refusal(&id, -32602);
    }
    let agrees = header("mcp-protocol-version") == version
        && header("mcp-method") == Some(method)
        && header("mcp-name") == name
        && header("mcp-session-id").is_none();
    if version.is_none() || !agrees {
        return refusal(&id, -32020);
    }
    match method {
        "server/discover" if seen.path == "/stateless-other" => refusal(&id, -32022),
        "server/discover" if seen.path == "/stateless-tells" => {
            result(&id, r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#)
        }
        "subscriptions/listen" => {
            let event = |method: &str| {
                format!(
                    "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\",\"params\":{{\"_meta\":{{\"{META}subscriptionId\":{id}}}}}}}\n\n"
                )
            };
            vec![
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_owned(),
                event("subscriptions/acknowledged"),
                event("tools/list_changed"),
                UNTIL_CLOSED.to_owned(),
            ]
        }
        "server/discover" => result(
            &id,
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#,
        ),
        "tools/list" => {
            let lists = earlier.iter().filter(|seen| seen.body.contains("tools/list")).count();
            // The second list says something else than the first.
            let region = if lists > 1 { "Place" } else { "Region" };
            result(
                &id,
                &format!(
                    r#"{{"tools":[{{"name":"json"}},{{"name":"bound","inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","x-mcp-header":"{region}"}}}}}}}},{{"name":"broken","inputSchema":{{"properties":{{"n":{{"type":"number","x-mcp-header":"N"}}}}}}}}]}}"#
                ),
            )
        }
        "tools/call" => call(&id, name.unwrap(), seen),
        _ => response(
            "404 Not Found",
            "Content-Type: application/json\r\n",
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"nf"}}}}"#),
        ),
    }
}

fn call(id: &str, name: &str, seen: &Seen) -> Vec<String> {
    let ok = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","n":1.0}}}}"#);
    match name {
        "json" => json(&ok),
        "events" => events(&[
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}}\n\n",
            "data: ",
            &ok,
            "\n\n",
        ]),
        // It has the new schema in mind, whatever it said before.
        "bound" => match seen.headers.get("mcp-param-place") {
            Some(place) => result(id, &format!(r#"{{"place":"{place}"}}"#)),
            None => refusal(id, -32020),
        },
        "mismatch" => refusal(id, -32020),
        "breaks-off" => events(&["id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"]),
        "hangs" => vec![
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: here\n\n".to_owned(),
            UNTIL_CLOSED.to_owned(),
        ],
        "unknown" => response(
            "400 Bad Request",
            "Content-Type: application/json\r\n",
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"unknown tool"}}}}"#),
        ),
        other => panic!("no such tool: {other}"),
    }
}

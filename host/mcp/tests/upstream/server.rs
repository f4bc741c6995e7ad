//! A server that behaves as the name of the called tool says.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use portcullis_model::json::{Value, parse};
use portcullis_model::object;

struct Server {
    mode: String,
    input: std::io::StdinLock<'static>,
}

fn raw(bytes: &[u8]) {
    let mut output = std::io::stdout().lock();
    // The gateway may be gone; then there is nobody to talk to.
    let _ = output.write_all(bytes).and_then(|()| output.flush());
}

fn line(text: &str) {
    raw(format!("{text}\n").as_bytes());
}

fn text_result(text: &str) -> Value {
    object! { "content" => vec![Value::from(object! { "type" => "text", "text" => text })] }.into()
}

fn result(id: &str, result: &Value) {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, result.to_json()));
}

fn error(id: &str, error: &str) {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
}

pub(crate) fn main(mode: &str) -> ExitCode {
    match mode {
        "dies" => {
            eprintln!("cannot find the database");
            return ExitCode::from(3);
        }
        "silent" => loop {
            std::thread::sleep(Duration::from_mins(1));
        },
        "deaf" => {
            // Shakes hands and never reads again.
            let mut first = String::new();
            std::io::stdin().lock().read_line(&mut first).unwrap();
        }
        "noisy" => (0..5000).for_each(|number| eprintln!("line {number} {}", "x".repeat(100))),
        "old" | "future" | "refuses" | "normal" => {}
        other => panic!("no such mode: {other}"),
    }
    let mut server = Server { mode: mode.to_owned(), input: std::io::stdin().lock() };
    if mode == "deaf" {
        server.initialize("1");
        loop {
            std::thread::sleep(Duration::from_mins(1));
        }
    }
    while let Some(message) = server.read() {
        server.handle(&message);
    }
    ExitCode::SUCCESS
}

impl Server {
    fn read(&mut self) -> Option<Value> {
        let mut text = String::new();
        let count = self.input.read_line(&mut text).ok()?;
        (count > 0).then(|| parse(text.trim().as_bytes()).unwrap())
    }

    fn handle(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) else {
            return;
        };
        let id = id.to_json();
        let empty = Value::from(object! {});
        let params = message.get("params").unwrap_or(&empty);
        match method {
            "initialize" => self.initialize(&id),
            "ping" => result(&id, &empty),
            "tools/list" => tools(&id, params),
            "prompts/list" => prompts(&id, params),
            "resources/list" => resources(&id, params),
            "resources/templates/list" => templates(&id, params),
            "tools/call" => self.call(&id, params.get("name").and_then(Value::as_str).unwrap(), params),
            _ => error(&id, r#"{"code":-32601,"message":"nf","vendor":1.0}"#),
        }
    }

    fn initialize(&self, id: &str) {
        let version = match self.mode.as_str() {
            "old" => "2024-11-05",
            "future" => "2999-01-01",
            "refuses" => {
                return line(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"go away"}}}}"#
                ));
            }
            _ => "2025-11-25",
        };
        line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}},"vendor":{{"x":1.50}}}},"serverInfo":{{"name":"fake","version":"1"}},"instructions":"be kind"}}}}"#
        ));
    }

    #[expect(
        clippy::too_many_lines,
        clippy::zombie_processes,
        reason = "one arm for each misbehaviour; orphans are the point"
    )]
    fn call(&mut self, id: &str, name: &str, params: &Value) {
        match name {
            "lossless" => line(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"z":1.0,"content":[],"a":12345678901234567890123,"$serde_json::private::Number":"1e5"}}}}"#
            )),
            "params" => result(id, params),
            "environment" => {
                let variables: Vec<_> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
                result(id, &text_result(&variables.join("\n")));
            }
            "pid" => result(id, &text_result(&std::process::id().to_string())),
            "grandchild" => {
                let child = std::process::Command::new("/bin/sleep").arg("300").spawn().unwrap();
                result(id, &text_result(&child.id().to_string()));
            }
            "noise" => {
                raw(b"hello not json\n\n[1,2]\n{\"level\":\"info\",\"id\":1,\"msg\":\"pino\"}\n\x1b[32mcolor\x1b[0m\n\xff\xfe\n");
                result(id, &text_result("after noise"));
            }
            "big" => {
                let text = "A".repeat(20_000_000);
                line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{text}"}}}}"#));
            }

            "big-id-last" => {
                line(&format!(r#"{{"result":{{"text":"{}"}},"jsonrpc":"2.0","id":{id}}}"#, "A".repeat(20_000_000)));
            }
            "float-code" => {
                line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000.5,"message":"x"}}}}"#));
            }
            "null-id" => line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#),
            "both" => line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}},"error":null}}"#)),
            "no-jsonrpc" => line(&format!(r#"{{"id":{id},"result":{{"ok":true}}}}"#)),
            "string-id" => line(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"ok":true}}}}"#)),
            "float-id" => line(&format!(r#"{{"jsonrpc":"2.0","id":{id}.0,"result":{{"ok":true}}}}"#)),
            "twice" => {
                result(id, &text_result("first"));
                result(id, &text_result("second"));
            }
            "wrong-id" => {
                line(r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#);
                line(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#);
                result(id, &text_result("right"));
            }
            "bad-utf8" => {
                let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""#).into_bytes();
                text.extend_from_slice(b"\xff\xfe\"}}\n");
                raw(&text);
            }
            "duplicate-keys" => line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#)),
            "surrogate" => line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":"\ud800"}}}}"#)),
            "deep" => {
                line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000)));
            }
            "batch" => line(&format!(
                r#"[{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"in a batch"}}}},{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}]"#
            )),
            "cancels" => line(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no"}}}}"#
            )),
            "crash" => std::process::exit(3),
            "crash-with-heir" => {
                // The grandchild keeps the output open, so there is no end of file.
                std::process::Command::new("/bin/sleep").arg("300").spawn().unwrap();
                std::process::exit(3);
            }
            "last-words" => {
                result(id, &text_result("said at the end"));
                std::process::exit(0);
            }
            "hang" => {}
            "closes-output" => {
                use std::os::unix::process::CommandExt;
                // It returns only where it fails.
                let error = std::process::Command::new("/bin/sh").args(["-c", "exec >&- 2>&-; sleep 300"]).exec();
                panic!("{error}");
            }
            "progress" => {
                let token = params.pointer("/_meta/progressToken").map_or("null".to_owned(), Value::to_json);
                for (token, number) in [(token.as_str(), 1), ("424242", 2), (token.as_str(), 3)] {
                    line(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{number}.0,"message":"m"}}}}"#
                    ));
                }
                result(id, &text_result(&token));
            }
            "slow-progress" => {
                let token = params.pointer("/_meta/progressToken").unwrap().to_json();
                for _ in 0..15 {
                    std::thread::sleep(Duration::from_millis(200));
                    line(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
                    ));
                }
                result(id, &text_result("done"));
            }
            "asks" => {
                line(r#"{"jsonrpc":"2.0","id":"r1","method":"roots/list"}"#);
                let answer = self.read().unwrap();
                result(id, &answer);
            }
            "pings" => {
                line(r#"{"jsonrpc":"2.0","id":77,"method":"ping"}"#);
                let answer = self.read().unwrap();
                result(id, &answer);
            }
            "asks-badly" => {
                line(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list","params":{"a":1,"a":2}}"#);
                let answer = self.read().unwrap();
                result(id, &answer);
            }
            "asks-and-withdraws" => {
                line(r#"{"jsonrpc":"2.0","id":6,"method":"elicitation/create","params":{}}"#);
                line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#);
                result(id, &text_result("withdrawn"));
            }
            "floods" => {
                for number in 0..1000 {
                    line(&format!(
                        r#"{{"jsonrpc":"2.0","id":"f{number}","method":"sampling/createMessage","params":{{}}}}"#
                    ));
                }
                result(id, &text_result("flooded"));
            }
            "reports-cancel" => {
                // Answers only after the client has given up and asks the next thing.
                let cancelled = self.read().unwrap();
                let next = self.read().unwrap();
                result(&next.get("id").unwrap().to_json(), &cancelled);
            }
            "length" => {
                let length = params.pointer("/arguments/text").and_then(Value::as_str).unwrap().len();
                result(id, &text_result(&length.to_string()));
            }
            "exit-code" => line(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"mine","data":{{"n":1.0}}}}}}"#
            )),
            other => panic!("no such tool: {other}"),
        }
    }
}

fn cursor(params: &Value) -> Option<&str> {
    params.get("cursor").and_then(Value::as_str)
}

fn page(id: &str, member: &str, names: &[String], next: Option<&str>) {
    let items: Vec<_> = names.iter().map(|name| Value::from(object! { "name" => name.as_str() })).collect();
    let mut page = object! { member => items };
    if let Some(next) = next {
        page.insert("nextCursor", next);
    }
    result(id, &page.into());
}

/// Three pages, the cursor of the second being empty.
fn tools(id: &str, params: &Value) {
    match cursor(params) {
        None => page(id, "tools", &["a".to_owned()], Some("")),
        Some("") => page(id, "tools", &["b".to_owned()], Some("last")),
        Some(_) => page(id, "tools", &["c".to_owned()], None),
    }
}

/// Ends with an empty cursor and starts over when asked for it.
fn prompts(id: &str, _params: &Value) {
    page(id, "prompts", &["only".to_owned()], Some(""));
}

/// Goes round between two pages.
fn resources(id: &str, params: &Value) {
    if cursor(params) == Some("x") {
        page(id, "resources", &["second".to_owned()], Some("y"));
    } else {
        page(id, "resources", &["first".to_owned()], Some("x"));
    }
}

/// Never ends.
fn templates(id: &str, params: &Value) {
    let number: u64 = cursor(params).unwrap_or("0").parse().unwrap();
    let next = (number + 1).to_string();
    page(id, "resourceTemplates", std::slice::from_ref(&next), Some(&next));
}

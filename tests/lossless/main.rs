//! What no policy edits reaches the other side unchanged: generated messages through the gateway, both ways, compared as
//! values, number text and member order included.

#![forbid(unsafe_code)]

mod scene;
mod values;

use std::time::Duration;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::scene::{ERAS, Era, Scene};
use crate::values::{extras, mixed, text, value};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_portcullis-tested");

/// A wrong member shows in the first few cases; each takes some milliseconds.
const CASES: u32 = 32;

fn check<T: std::fmt::Debug>(strategy: &BoxedStrategy<T>, mut test: impl FnMut(T) -> Result<(), TestCaseError>) {
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 4, ..Config::default() };
    let test = std::cell::RefCell::new(&mut test);
    TestRunner::new(config).run(strategy, |case| (test.borrow_mut())(case)).unwrap_or_else(|error| panic!("{error}"));
}

fn same(sent: &Value, came: &Value) -> Result<(), TestCaseError> {
    // The texts are compared: equal values could still differ in the text of a number.
    if sent.to_json() == came.to_json() {
        return Ok(());
    }
    Err(TestCaseError::fail(format!("sent {}\ncame {}", sent.to_json(), came.to_json())))
}

/// The members of a tool that [`tool`] sets itself or that mean something.
const OF_TOOLS: &[&str] =
    &["name", "description", "inputSchema", "annotations", "execution", "_meta", "title", "icons", "outputSchema"];

/// The members of `_meta` that the gateway and its client each set for themselves.
const OWN_META: [&str; 4] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
];

/// A tool as a server may list it: known members among unknown ones, and a schema full of both.
fn tool() -> BoxedStrategy<Value> {
    let schema =
        (extras(&["type", "properties", "required"]), text(), value()).prop_map(|(extra, description, default)| {
            let property = object! { "description" => description, "default" => default, "$anchor" => "here" };
            let known = object! { "type" => "object", "properties" => object! { "a" => property } };
            mixed(&known, &extra)
        });
    let annotations = (extras(&["readOnlyHint", "title"]), any::<bool>())
        .prop_map(|(extra, hint)| mixed(&object! { "readOnlyHint" => hint, "title" => "A tool" }, &extra));
    ("[a-z]{1,12}", text(), schema, annotations, extras(OF_TOOLS), extras(&[]))
        .prop_map(|(name, description, schema, annotations, extra, meta)| {
            let known = object! {
                "name" => name, "description" => description, "inputSchema" => schema, "annotations" => annotations,
                "execution" => object! { "taskSupport" => "optional", "vendor" => 1.0_f64.to_string() }, "_meta" => meta,
            };
            mixed(&known, &extra).into()
        })
        .boxed()
}

fn tools() -> BoxedStrategy<Vec<Value>> {
    vec(tool(), 1..4)
        .prop_map(|tools| {
            let unique = tools.into_iter().enumerate().map(|(index, mut tool)| {
                let name = format!("{}_{index}", tool.get("name").and_then(Value::as_str).unwrap_or_default());
                tool.as_object_mut().expect("a tool is an object").insert("name", name);
                tool
            });
            unique.collect()
        })
        .boxed()
}

/// A block of content, of a known type or none that exists yet.
fn block() -> BoxedStrategy<Value> {
    const OWN: &[&str] = &["type", "text", "annotations"];
    let known = prop_oneof![
        text().prop_map(|text| object! { "type" => "text", "text" => text }),
        Just(object! { "type" => "video", "url" => "https://example.com/a" }),
        text().prop_map(|text| object! { "type" => "resource_link", "uri" => "test://a", "name" => text }),
    ];
    (known, extras(OWN)).prop_map(|(known, extra)| mixed(&known, &extra).into()).boxed()
}

fn result() -> BoxedStrategy<Value> {
    const OWN: &[&str] = &["content", "structuredContent", "isError", "_meta", "resultType"];
    (vec(block(), 0..3), extras(&[]), any::<bool>(), extras(OWN), extras(&[]))
        .prop_map(|(content, structured, failed, extra, meta)| {
            let known = object! { "content" => content, "structuredContent" => structured, "isError" => failed, "_meta" => meta };
            mixed(&known, &extra).into()
        })
        .boxed()
}

#[test]
fn a_listed_tool_keeps_every_member() {
    for era in ERAS {
        let mut scene = Scene::start(era);
        check(&tools(), |mut tools| {
            if era == Era::Stateless {
                // The era has no such member: the gateway takes it away.
                tools.iter_mut().filter_map(Value::as_object_mut).for_each(|tool| drop(tool.remove("execution")));
            }
            let listed = scene.list(&tools);
            same(&tools.into(), &listed.into())
        });
    }
}

#[test]
fn a_result_keeps_every_member() {
    for era in ERAS {
        let mut scene = Scene::start(era);
        let mark = scene.nothing().get("resultType").cloned();
        check(&result(), |mut result| {
            if let (Some(mark), Some(result)) = (&mark, result.as_object_mut()) {
                result.insert("resultType", mark.clone());
            }
            let reply = scene.call(object! { "result" => result.clone() }, object! {});
            same(&result, reply.get("result").unwrap_or(&Value::Null))
        });
    }
}

#[test]
fn what_is_told_of_a_task_and_what_comes_of_it_keep_every_member() {
    const OWN: &[&str] = &[
        "taskId",
        "status",
        "statusMessage",
        "ttl",
        "ttlMs",
        "result",
        "error",
        "inputRequests",
        "resultType",
        "_meta",
    ];
    for era in ERAS {
        let mut scene = Scene::start(era);
        check(&(text(), extras(OWN), result()).boxed(), |(message, extra, result)| {
            let told = mixed(&object! { "status" => "completed", "statusMessage" => message }, &extra);
            let (came, result_came) = scene.follow(told.clone(), &result);
            same(&told.into(), &came)?;
            same(&result, &result_came)
        });
    }
}

#[test]
fn an_error_keeps_its_code_its_message_and_its_data() {
    for era in ERAS {
        let mut scene = Scene::start(era);
        check(&(1_i64..40_000, text(), value()).boxed(), |(code, message, data)| {
            let error = object! { "code" => code, "message" => message, "data" => data };
            let reply = scene.call(object! { "error" => error.clone() }, object! {});
            same(&error.into(), reply.get("error").unwrap_or(&Value::Null))
        });
    }
}

#[test]
fn a_request_keeps_every_member() {
    const OWN: &[&str] = &["name", "arguments", "_meta", "task", "inputResponses", "requestState"];
    for era in ERAS {
        let mut scene = Scene::start(era);
        let params = (extras(&[]), extras(OWN), extras(&["progressToken"]));
        check(&params.boxed(), |(arguments, extra, meta)| {
            let known = object! { "name" => Scene::TOOL, "arguments" => arguments, "_meta" => meta };
            let params = mixed(&known, &extra);
            let answer = object! { "result" => scene.nothing() };
            scene.call(answer, params.clone());
            let mut seen = scene.server.script().calls.pop().expect("the call came");
            if let Some(meta) = seen.pointer_mut("/_meta").and_then(Value::as_object_mut) {
                meta.retain(|key, _| !OWN_META.contains(&key));
            }
            same(&params.into(), &seen)
        });
    }
}

#[test]
fn what_a_server_asks_and_what_the_client_answers_keep_every_member() {
    const OWN: &[&str] = &["message", "requestedSchema", "mode", "_meta", "task"];
    for era in ERAS {
        let mut scene = Scene::start(era);
        let schema = extras(&["type", "properties", "required"]);
        let asked = (text(), schema, extras(OWN), extras(&["action", "content"]));
        check(&asked.boxed(), |(message, schema, extra, answer)| {
            let properties = object! { "a" => object! { "type" => "string", "pattern" => "^a" } };
            let schema = mixed(&object! { "type" => "object", "properties" => properties }, &schema);
            let params = mixed(&object! { "message" => message.clone(), "requestedSchema" => schema }, &extra);
            let answer = mixed(&object! { "action" => "accept", "content" => object! { "a" => "abc" } }, &answer);
            let (mut asked, came) = scene.ask("elicitation/create", params.clone().into(), answer.clone().into());
            // The gateway puts the name of the server in front of what the user reads.
            let shown = asked.as_object_mut().and_then(|asked| asked.insert("message", message.clone()));
            let shown = shown.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            if !shown.ends_with(&message) {
                return Err(TestCaseError::fail(format!("the user would read {shown:?} for {message:?}")));
            }
            same(&params.into(), &asked)?;
            same(&answer.into(), &came)
        });
    }
}

#[test]
fn what_a_server_reports_on_the_way_keeps_every_member() {
    for era in ERAS {
        let mut scene = Scene::start(era);
        let of_progress = extras(&["progressToken", "progress", "total", "message"]);
        let reported = (of_progress, 0_u64..100, value(), extras(&["level", "data", "logger"]));
        check(&reported.boxed(), |(extra, progress, data, log)| {
            let progress = mixed(&object! { "progressToken" => "?", "progress" => progress }, &extra);
            let log = mixed(&object! { "level" => "error", "logger" => "a", "data" => data }, &log);
            let (came_progress, came_log) = scene.report(progress.clone(), log.clone());
            same(&with_token(progress).into(), &came_progress)?;
            same(&log.into(), &came_log)
        });
    }
}

fn with_token(mut progress: Object) -> Object {
    progress.insert("progressToken", Scene::TOKEN);
    progress
}

/// Longer than any message takes, shorter than a patient reader.
const PATIENCE: Duration = Duration::from_secs(10);

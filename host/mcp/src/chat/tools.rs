//! The four tools of an agent: what they are, and what they are called with.

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// The longest prompt. Whole documents fit; more is better read by the agent itself.
const LONGEST_PROMPT: usize = 256 * 1024;
/// The longest name of a conversation.
const LONGEST_SESSION: usize = 128;

/// What is asked of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Answer a prompt, now or later.
    Ask { prompt: String, session: Option<String>, later: bool },
    /// Tell of a job.
    Check(String),
    /// End a job.
    Cancel(String),
    /// Forget all jobs and conversations of who asks.
    Reset,
}

/// What is wrong with a call, for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallProblem {
    /// There is no such tool.
    #[error("there is no tool `{0}`; there are `ask`, `check`, `cancel`, `reset`")]
    Tool(String),
    /// A toolset was wished for.
    #[error("`toolsets` cannot be kept to: the endpoint has no way to confine the agent. Ask without it")]
    Toolsets,
    /// An argument that is not known.
    #[error("there is no argument `{0}`")]
    Unknown(String),
    /// An argument has the wrong type or is missing.
    #[error("`{0}` has to be {1}")]
    Argument(&'static str, &'static str),
    /// The prompt is too long.
    #[error("the prompt is longer than 256 KiB")]
    Long,
}

/// Reads a call.
pub(super) fn read(tool: &str, params: &Value) -> Result<Wanted, CallProblem> {
    let none = Object::new();
    let arguments = params.get("arguments").and_then(Value::as_object).unwrap_or(&none);
    let known: &[&str] = match tool {
        "ask" => &["prompt", "session_id", "async_mode"],
        "check" | "cancel" => &["job_id"],
        "reset" => &[],
        _ => return Err(CallProblem::Tool(tool.chars().take(64).collect())),
    };
    for (name, value) in arguments.iter() {
        if name == "toolsets" && *value != Value::Null {
            return Err(CallProblem::Toolsets);
        }
        if name != "toolsets" && !known.contains(&name) {
            return Err(CallProblem::Unknown(name.chars().take(64).collect()));
        }
    }
    match tool {
        "ask" => ask(arguments),
        "check" => Ok(Wanted::Check(job(arguments)?)),
        "cancel" => Ok(Wanted::Cancel(job(arguments)?)),
        _ => Ok(Wanted::Reset),
    }
}

fn ask(arguments: &Object) -> Result<Wanted, CallProblem> {
    let prompt = arguments.get("prompt").and_then(Value::as_str).filter(|prompt| !prompt.trim().is_empty());
    let prompt = prompt.ok_or(CallProblem::Argument("prompt", "a text that is not empty"))?;
    if prompt.len() > LONGEST_PROMPT {
        return Err(CallProblem::Long);
    }
    let session = match arguments.get("session_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if is_session(name) => Some(name.clone()),
        Some(_) => return Err(CallProblem::Argument("session_id", "1 to 128 of the characters A-Z a-z 0-9 . _ : -")),
    };
    let later = match arguments.get("async_mode") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(later)) => *later,
        Some(_) => return Err(CallProblem::Argument("async_mode", "true or false")),
    };
    Ok(Wanted::Ask { prompt: prompt.to_owned(), session, later })
}

fn is_session(name: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | ':' | '-');
    (1..=LONGEST_SESSION).contains(&name.len()) && name.chars().all(is_plain)
}

fn job(arguments: &Object) -> Result<String, CallProblem> {
    let id = arguments.get("job_id").and_then(Value::as_str).filter(|id| (1..=64).contains(&id.len()));
    id.map(str::to_owned).ok_or(CallProblem::Argument("job_id", "the id that `ask` gave"))
}

/// Returns the tools as a server lists them.
pub(super) fn listed() -> Vec<Value> {
    let text = |description: &str| Value::from(object! { "type" => "string", "description" => description });
    let schema = |properties: Object, required: &[&str]| {
        let required: Vec<Value> = required.iter().map(|name| Value::from(*name)).collect();
        let mut schema = object! { "type" => "object", "properties" => properties, "additionalProperties" => false };
        if !required.is_empty() {
            schema.insert("required", required);
        }
        Value::from(schema)
    };
    let tool = |name: &str, description: &str, schema: Value, annotations: Object| {
        object! {
            "name" => name,
            "description" => description,
            "inputSchema" => schema,
            "annotations" => annotations,
        }
        .into()
    };
    let later = "True to get a job id at once and the answer by `check`. Default: false.";
    let ask = object! {
        "prompt" => text("What the agent is asked, at most 256 KiB."),
        "session_id" => text("The name of a conversation of yours to go on with: 1 to 128 of A-Z a-z 0-9 . _ : -"),
        "async_mode" => object! { "type" => "boolean", "description" => later },
    };
    let job = || schema(object! { "job_id" => text("The id that `ask` gave.") }, &["job_id"]);
    vec![
        tool(
            "ask",
            "Asks the agent behind this server and returns its answer as text, or with `async_mode` a JSON text with `job_id`.",
            schema(ask, &["prompt"]),
            object! { "readOnlyHint" => false, "destructiveHint" => true, "openWorldHint" => true },
        ),
        tool(
            "check",
            "Tells what became of a job of yours, as a JSON text: `status` is pending, running, completed, failed, cancelled or \
             unknown; `result` holds the answer. Times are seconds since 1970.",
            job(),
            object! { "readOnlyHint" => true, "openWorldHint" => false },
        ),
        tool(
            "cancel",
            "Breaks off a job of yours and tells what became of it, as `check` does. What the agent did before may stay done.",
            job(),
            object! { "readOnlyHint" => false, "destructiveHint" => true, "idempotentHint" => true, "openWorldHint" => false },
        ),
        tool(
            "reset",
            "Forgets all your jobs and conversations with the agent, and breaks off those that run. Others keep theirs.",
            schema(Object::new(), &[]),
            object! { "readOnlyHint" => false, "destructiveHint" => true, "idempotentHint" => true, "openWorldHint" => false },
        ),
    ]
}

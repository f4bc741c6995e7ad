//! Sampling requests of servers (MCP, `sampling/createMessage`) as chat completions, and back.

use std::time::Duration;

use portcullis_config::ChatEndpoint;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use super::{Asking, ChatClient, ChatError, Completion};
use crate::jsonrpc::{ErrorObject, code};

/// Why a provider gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SampleError {
    /// The request holds what cannot be asked.
    #[error("this sampling request cannot be put to the provider: {0}")]
    Request(&'static str),
    /// The provider gave no answer.
    #[error(transparent)]
    Chat(#[from] ChatError),
}

/// What came of a request: the result for the server, and what it cost.
#[derive(Debug)]
pub(crate) struct Sampled {
    /// The result of `sampling/createMessage`.
    pub(crate) result: Value,
    /// Tokens, as the provider counts them.
    pub(crate) tokens: u64,
    /// True where the model wants to use tools.
    pub(crate) uses_tools: bool,
}

/// Has a provider answer a request, as it passed its gate.
pub(crate) async fn sample(provider: &ChatEndpoint, params: &Value, limit: Duration) -> Result<Sampled, SampleError> {
    let asking = asking(params).map_err(SampleError::Request)?;
    let client = ChatClient::new(provider)?;
    let limit = client.timeout().map_or(limit, |own| own.min(limit));
    let completion = client.complete(asking, limit).await?;
    Ok(Sampled {
        tokens: completion.tokens,
        uses_tools: !completion.tools.is_empty(),
        result: result(completion, &provider.model),
    })
}

impl SampleError {
    /// Returns what the server is told. The cause is for the operator: it says something of the provider.
    pub(crate) fn for_server(&self) -> ErrorObject {
        match self {
            Self::Request(_) => ErrorObject::new(code::INVALID_PARAMS, self.to_string()),
            Self::Chat(ChatError::TimedOut(_)) => {
                ErrorObject::new(crate::downstream::own_code::TIMED_OUT, "the model did not answer in time")
            }
            Self::Chat(_) => ErrorObject::new(code::INTERNAL_ERROR, "the model could not be asked"),
        }
    }
}

fn asking(params: &Value) -> Result<Asking, &'static str> {
    let mut messages = Vec::new();
    if let Some(prompt) = params.get("systemPrompt").and_then(Value::as_str) {
        messages.push(object! { "role" => "system", "content" => prompt }.into());
    }
    for message in params.get("messages").and_then(Value::as_array).ok_or("it has no messages")? {
        convert(message, &mut messages)?;
    }
    let mut further = Object::new();
    if let Some(temperature) = params.get("temperature").filter(|value| value.as_number().is_some()) {
        further.insert("temperature", temperature.clone());
    }
    if let Some(stops) = params.get("stopSequences").and_then(Value::as_array).filter(|stops| !stops.is_empty()) {
        further.insert("stop", stops.to_vec());
    }
    let tools = params.get("tools").and_then(Value::as_array).unwrap_or_default();
    if !tools.is_empty() {
        further.insert("tools", tools.iter().map(tool).collect::<Result<Vec<_>, _>>()?);
        if let Some(mode) = params.pointer("/toolChoice/mode").and_then(Value::as_str) {
            if !matches!(mode, "auto" | "required" | "none") {
                return Err("its choice of tools is of no mode that exists");
            }
            further.insert("tool_choice", mode);
        }
    }
    let max_tokens = params.get("maxTokens").and_then(Value::as_u64);
    Ok(Asking { messages, max_tokens, further, session: None })
}

fn tool(tool: &Value) -> Result<Value, &'static str> {
    let name = tool.get("name").and_then(Value::as_str).ok_or("a tool has no name")?;
    let mut function = object! { "name" => name };
    if let Some(description) = tool.get("description").filter(|text| text.as_str().is_some()) {
        function.insert("description", description.clone());
    }
    let schema = tool.get("inputSchema").cloned().unwrap_or_else(|| object! { "type" => "object" }.into());
    function.insert("parameters", schema);
    Ok(object! { "type" => "function", "function" => function }.into())
}

/// Appends a message. One that answers uses of tools becomes a message for each of them.
fn convert(message: &Value, messages: &mut Vec<Value>) -> Result<(), &'static str> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    if !matches!(role, "user" | "assistant") {
        return Err("a message is neither of the user nor of the assistant");
    }
    let content = message.get("content").ok_or("a message has no content")?;
    let blocks = content.as_array().unwrap_or(std::slice::from_ref(content));
    let (mut parts, mut uses) = (Vec::new(), Vec::new());
    for block in blocks {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => parts.push(text_part(text("text").ok_or("a text has no text")?)),
            Some("image") => {
                let (kind, data) = (text("mimeType"), text("data"));
                let (Some(kind), Some(data)) = (kind, data) else {
                    return Err("an image has no data or no type");
                };
                let url = object! { "url" => format!("data:{kind};base64,{data}") };
                parts.push(object! { "type" => "image_url", "image_url" => url }.into());
            }
            Some("tool_use") => uses.push(used(block)?),
            Some("tool_result") => messages.push(tool_result(block)?),
            // To leave it out would ask something else than the server did.
            _ => return Err("a message has content of a kind that the provider does not take"),
        }
    }
    if parts.is_empty() && uses.is_empty() {
        // It was made of results of tools alone.
        return Ok(());
    }
    let content = match parts.as_slice() {
        [] => Value::Null,
        [part] if part.get("text").is_some() => part.get("text").cloned().unwrap_or(Value::Null),
        _ => parts.into(),
    };
    let mut converted = object! { "role" => role, "content" => content };
    if !uses.is_empty() {
        converted.insert("tool_calls", uses);
    }
    messages.push(converted.into());
    Ok(())
}

fn text_part(text: &str) -> Value {
    object! { "type" => "text", "text" => text }.into()
}

fn used(block: &Value) -> Result<Value, &'static str> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).ok_or("a use of a tool has no id or name");
    let arguments = block.get("input").map_or_else(|| "{}".to_owned(), Value::to_json);
    let function = object! { "name" => text("name")?, "arguments" => arguments };
    Ok(object! { "id" => text("id")?, "type" => "function", "function" => function }.into())
}

fn tool_result(block: &Value) -> Result<Value, &'static str> {
    let id = block.get("toolUseId").and_then(Value::as_str).ok_or("a result of a tool does not say of which use")?;
    let blocks = block.get("content").and_then(Value::as_array).unwrap_or_default();
    let texts: Option<Vec<&str>> = blocks.iter().map(|block| block.get("text").and_then(Value::as_str)).collect();
    let text = texts.ok_or("a result of a tool holds something else than text")?.join("\n");
    Ok(object! { "role" => "tool", "tool_call_id" => id, "content" => text }.into())
}

fn result(completion: Completion, model: &str) -> Value {
    let stop_reason = match completion.finish.as_deref() {
        _ if !completion.tools.is_empty() => "toolUse",
        Some("length") => "maxTokens",
        Some("stop_sequence") => "stopSequence",
        Some(_) | None => "endTurn",
    };
    let text: Value = text_part(&completion.text);
    let content = if completion.tools.is_empty() {
        text
    } else {
        let uses = completion.tools.into_iter().map(|tool| {
            object! { "type" => "tool_use", "id" => tool.id, "name" => tool.name, "input" => tool.input }.into()
        });
        let text = (!completion.text.is_empty()).then_some(text);
        text.into_iter().chain(uses).collect::<Vec<Value>>().into()
    };
    let model = completion.model.unwrap_or_else(|| model.to_owned());
    object! { "role" => "assistant", "content" => content, "model" => model, "stopReason" => stop_reason }.into()
}

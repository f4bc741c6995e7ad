//! What a server asks of the client: what is judged, what is sent, and what counts as an answer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use portcullis_config::ServerOptions;
use portcullis_gates::ServerRequest;
use portcullis_model::json::{Object, Value};
use portcullis_model::{FormField, RequestKind, Sampling, object};

use crate::approver::shown;
use crate::downstream::own_code;
use crate::jsonrpc::{ErrorObject, code};
use crate::method::ServerMethod;

/// So many model hints and form fields are told to policies: the rest is in the document that they judge as well.
const MOST_FIELDS: usize = 256;

/// Returns true unless the config switches such requests of the server off.
pub(crate) fn is_enabled(options: &ServerOptions, method: ServerMethod) -> bool {
    let block = match method {
        ServerMethod::CreateMessage => &options.sampling,
        ServerMethod::Elicit => &options.elicitation,
        ServerMethod::ListRoots | ServerMethod::Ping | ServerMethod::Unknown => return true,
    };
    block.get("enabled").and_then(Value::as_bool).unwrap_or(true)
}

/// Returns the error for a request that needs what the client does not offer: a capability, or a part of one, which servers
/// are told by different codes (MCP 2025-11-25, elicitation and sampling).
pub(crate) fn not_offered(lacking: &str) -> ErrorObject {
    match lacking.split_once('.') {
        None => ErrorObject::new(code::METHOD_NOT_FOUND, "the client does not offer this"),
        Some(_) => ErrorObject::new(code::INVALID_PARAMS, format!("the client did not declare `{lacking}`")),
    }
}

/// Returns what policies are told of a request; nothing for what is no such request, or is of an unknown mode.
pub(crate) fn request_kind(method: ServerMethod, params: &Value) -> Option<RequestKind> {
    match method {
        ServerMethod::CreateMessage => Some(RequestKind::Sampling(sampling(params))),
        ServerMethod::Elicit => match params.get("mode").map(Value::as_str) {
            None | Some(Some("form")) => Some(RequestKind::ElicitationForm(form(params))),
            Some(Some("url")) => {
                let url = params.get("url").and_then(Value::as_str)?;
                Some(RequestKind::ElicitationUrl(url.to_owned()))
            }
            Some(Some(_) | None) => None,
        },
        ServerMethod::ListRoots => Some(RequestKind::Roots),
        ServerMethod::Ping | ServerMethod::Unknown => None,
    }
}

fn sampling(params: &Value) -> Sampling {
    let hints = params.pointer("/modelPreferences/hints").and_then(Value::as_array).unwrap_or_default();
    let names = hints.iter().filter_map(|hint| hint.get("name").and_then(Value::as_str));
    Sampling {
        max_tokens: params.get("maxTokens").and_then(Value::as_u64),
        models: names.take(MOST_FIELDS).map(str::to_owned).collect(),
        tools: params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()),
    }
}

fn form(params: &Value) -> Vec<FormField> {
    let required = params.pointer("/requestedSchema/required").and_then(Value::as_array).unwrap_or_default();
    let properties = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
    let fields = properties.into_iter().flat_map(Object::iter).take(MOST_FIELDS);
    fields
        .map(|(name, property)| {
            let text = |key: &str| property.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            FormField {
                name: name.to_owned(),
                title: text("title"),
                description: text("description"),
                kind: text("type"),
                format: text("format"),
                required: required.iter().any(|required| required.as_str() == Some(name)),
            }
        })
        .collect()
}

/// Returns what policies told the host about requests of that kind: an object under the name of the capability.
fn told<'a>(limits: &'a Object, kind: &RequestKind) -> Option<&'a Object> {
    let name = match kind {
        RequestKind::Sampling(_) => "sampling",
        RequestKind::ElicitationForm(_) | RequestKind::ElicitationUrl(_) => "elicitation",
        RequestKind::Roots => "roots",
    };
    limits.get(name).and_then(Value::as_object)
}

/// Returns the parameters that the client gets: limits lowered, models as policies chose them, and a form's message begun with the server's name, so
/// that no server can pass for another or for the gateway.
pub(crate) fn envelope(request: &ServerRequest, limits: &Object) -> Value {
    let mut params = request.document.clone();
    let told = told(limits, &request.kind);
    let Some(object) = params.as_object_mut() else {
        return params;
    };
    match &request.kind {
        RequestKind::Sampling(sampling) => {
            if let Some(limit) = told.and_then(|told| told.get("max_tokens")).and_then(Value::as_u64) {
                let tokens = sampling.max_tokens.map_or(limit, |wanted| wanted.min(limit));
                if sampling.max_tokens != Some(tokens) {
                    object.insert("maxTokens", tokens);
                }
            }
            if let Some(models) = told.and_then(|told| told.get("models")).and_then(Value::as_array) {
                prefer(object, models);
            }
        }
        RequestKind::ElicitationForm(_) | RequestKind::ElicitationUrl(_) => {
            let message = object.get("message").and_then(Value::as_str).unwrap_or_default();
            let message = format!("The server `{}` asks: {message}", shown(request.server.as_str(), 64));
            object.insert("message", message);
        }
        RequestKind::Roots => {}
    }
    params
}

/// Puts the models that policies chose in the place of those that the server hoped for.
fn prefer(params: &mut Object, models: &[Value]) {
    let hints: Vec<Value> = models.iter().map(|model| object! { "name" => model.clone() }.into()).collect();
    match params.get_mut("modelPreferences").and_then(Value::as_object_mut) {
        Some(preferences) => {
            preferences.insert("hints", hints);
        }
        None => {
            params.insert("modelPreferences", object! { "hints" => hints });
        }
    }
}

/// Returns how long the client may take: the least of what policies, config and the gateway say.
pub(crate) fn limit(limits: &Object, options: &ServerOptions, request: &ServerRequest, longest: Duration) -> Duration {
    let block = match request.kind {
        RequestKind::Sampling(_) => Some(&options.sampling),
        RequestKind::ElicitationForm(_) | RequestKind::ElicitationUrl(_) => Some(&options.elicitation),
        RequestKind::Roots => None,
    };
    let seconds = |value: Option<&Value>| {
        let number = value.and_then(Value::as_number)?.as_f64()?;
        Duration::try_from_secs_f64(number).ok()
    };
    let configured = seconds(block.and_then(|block| block.get("timeout"))).unwrap_or(longest);
    // The config may give more than the default; a policy only less.
    let milliseconds = told(limits, &request.kind).and_then(|told| told.get("timeout_ms")).and_then(Value::as_u64);
    milliseconds.map_or(configured, |limit| Duration::from_millis(limit).min(configured))
}

/// Counts sampling rounds with tools: an answer that uses a tool adds one, any other answer starts over.
pub(crate) fn count_rounds(rounds: &AtomicU32, result: Option<&Value>) {
    match result.and_then(|result| result.get("stopReason")).and_then(Value::as_str) {
        Some("toolUse") => {
            // At the top it stays there: no policy allows so many.
            let _ = rounds.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |rounds| rounds.checked_add(1));
        }
        _ => rounds.store(0, Ordering::Relaxed),
    }
}

/// Returns the answer to an elicitation that is refused.
pub(crate) fn declined() -> Value {
    object! { "action" => "decline" }.into()
}

/// Checks that an acceptance of a form holds what the form asked for; an answer that does not is no consent.
pub(crate) fn check_elicitation(params: &Value, result: Value) -> Result<Value, ErrorObject> {
    if result.get("action").and_then(Value::as_str) != Some("accept") {
        return Ok(result);
    }
    let Some(schema) = params.get("requestedSchema").filter(|_| params.get("url").is_none()) else {
        return Ok(result);
    };
    let content = result.get("content");
    let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    let missing =
        required.iter().filter_map(Value::as_str).any(|name| content.and_then(|content| content.get(name)).is_none());
    let mistyped = schema.get("properties").and_then(Value::as_object).is_some_and(|properties| {
        properties.iter().any(|(name, property)| {
            content.and_then(|content| content.get(name)).is_some_and(|value| !fits(property, value))
        })
    });
    if missing || mistyped {
        let text = "the client's answer does not fit the form";
        return Err(ErrorObject::new(own_code::MALFORMED, text));
    }
    Ok(result)
}

fn fits(property: &Value, value: &Value) -> bool {
    let is_of_type = match property.get("type").and_then(Value::as_str) {
        Some("string") => value.as_str().is_some(),
        Some("boolean") => value.as_bool().is_some(),
        Some("number") => value.as_number().is_some(),
        Some("integer") => value.as_i64().is_some() || value.as_u64().is_some(),
        Some("array") => value.as_array().is_some(),
        _ => true,
    };
    let choices = property.get("enum").and_then(Value::as_array);
    is_of_type && choices.is_none_or(|choices| choices.contains(value))
}

#[cfg(test)]
mod tests;

//! One exchange with an endpoint.

use std::time::Duration;

use portcullis_config::ChatEndpoint;
use portcullis_model::json::{Object, Value, parse};
use portcullis_model::object;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::transport::http::{HttpClient, HttpFailure, HttpSetupError, PostError, Reply, Trusted};

/// The path of chat completions below the base of such an API.
const PATH: &str = "/chat/completions";
/// The longest text that is taken as an answer: more than any model writes at once, so what is longer is an attack.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// A client of one endpoint.
#[derive(Debug)]
pub(crate) struct ChatClient {
    http: HttpClient,
    endpoint: ChatEndpoint,
    session_header: Option<HeaderName>,
}

/// What an endpoint is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asking {
    /// The messages, in its form.
    pub(crate) messages: Vec<Value>,
    /// Most tokens of the answer; the endpoint's own limit of the config counts besides.
    pub(crate) max_tokens: Option<u64>,
    /// Further members of the request, such as `tools`.
    pub(crate) further: Object,
    /// The name of the conversation, where the endpoint keeps it.
    pub(crate) session: Option<String>,
}

/// A tool that the model wants to use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its arguments, always an object.
    pub(crate) input: Value,
}

/// What an endpoint answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Completion {
    /// The text.
    pub(crate) text: String,
    /// The tools that the model wants to use.
    pub(crate) tools: Vec<ToolUse>,
    /// Why it ended, in the endpoint's words.
    pub(crate) finish: Option<String>,
    /// The model that answered, in the endpoint's words.
    pub(crate) model: Option<String>,
    /// How many tokens the exchange took, as the endpoint counts them.
    pub(crate) tokens: u64,
}

/// Why an endpoint gave no answer. Nothing of the URL, the key or a body is in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChatError {
    /// The entry does not make a client.
    #[error("the endpoint cannot be used")]
    Setup(#[from] HttpSetupError),
    /// The endpoint refused the key.
    #[error("the endpoint refused the key with status {0}: look at `api_key`")]
    Key(u16),
    /// The exchange failed.
    #[error(transparent)]
    Http(HttpFailure),
    /// It took too long.
    #[error("the endpoint did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// What came is no chat completion.
    #[error("the endpoint's answer is no chat completion: {0}")]
    Malformed(&'static str),
}

impl ChatClient {
    /// Prepares a client. Nothing is sent yet.
    pub(crate) fn new(endpoint: &ChatEndpoint) -> Result<Self, ChatError> {
        let base = endpoint.url.trim_end_matches('/');
        let url = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        let http = HttpClient::new(&url, &endpoint.headers(), &Trusted::default())?;
        let session_header = endpoint.session_header.as_deref().map(str::as_bytes).map(HeaderName::from_bytes);
        let session_header = session_header.and_then(Result::ok);
        Ok(Self { http, endpoint: endpoint.clone(), session_header })
    }

    /// Returns true where the endpoint keeps conversations itself.
    pub(crate) fn keeps_conversations(&self) -> bool {
        self.session_header.is_some()
    }

    /// Returns how long the endpoint may take, where the config says so.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.endpoint.timeout
    }

    /// Asks the endpoint. Dropping the future breaks the exchange off.
    pub(crate) async fn complete(&self, asking: Asking, limit: Duration) -> Result<Completion, ChatError> {
        let mut headers = HeaderMap::new();
        if let (Some(name), Some(session)) = (&self.session_header, &asking.session)
            && let Ok(value) = HeaderValue::from_str(session)
        {
            headers.insert(name.clone(), value);
        }
        let body = self.body(asking).to_json().into_bytes();
        let exchange = self.http.post(body, Some(Box::new(headers)));
        let reply = tokio::time::timeout(limit, exchange).await.map_err(|_| ChatError::TimedOut(limit))?;
        match reply {
            Ok(Reply::Json(bytes)) => {
                let answer = parse(&bytes).map_err(|_| ChatError::Malformed("it is no JSON"))?;
                read(&answer)
            }
            Ok(Reply::Oversize) => Err(ChatError::Malformed("it is too large")),
            Ok(Reply::Accepted) => Err(ChatError::Malformed("it is empty")),
            Ok(Reply::Events(_)) => Err(ChatError::Malformed("it is a stream, which was not asked for")),
            // What a refusal says may repeat the key or the prompt: only its status is told.
            Err(PostError { failure: HttpFailure::Unauthorized { status, .. }, .. }) => Err(ChatError::Key(status)),
            Err(error) => Err(ChatError::Http(error.failure)),
        }
    }

    fn body(&self, asking: Asking) -> Value {
        let mut body = object! {
            "model" => self.endpoint.model.as_str(),
            "messages" => asking.messages,
            "stream" => false,
        };
        let limits = [asking.max_tokens, self.endpoint.max_tokens];
        if let Some(limit) = limits.into_iter().flatten().min() {
            body.insert("max_tokens", limit);
        }
        for (key, value) in asking.further.iter() {
            body.insert(key, value.clone());
        }
        body.into()
    }
}

fn read(answer: &Value) -> Result<Completion, ChatError> {
    let choice = answer.pointer("/choices/0").ok_or(ChatError::Malformed("it has no choice"))?;
    let message = choice.get("message").ok_or(ChatError::Malformed("its choice has no message"))?;
    let text = match message.get("content") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err(ChatError::Malformed("its content is no text")),
    };
    if text.len() > LONGEST_ANSWER {
        return Err(ChatError::Malformed("its text is longer than 1 MiB"));
    }
    let calls = message.get("tool_calls").and_then(Value::as_array).unwrap_or_default();
    let tools = calls.iter().map(tool_use).collect::<Result<Vec<_>, _>>()?;
    if message.get("content").is_none_or(|content| *content == Value::Null) && tools.is_empty() {
        return Err(ChatError::Malformed("its message has no content"));
    }
    let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(Completion {
        text,
        tools,
        finish: word(choice, "finish_reason"),
        model: word(answer, "model"),
        tokens: answer.pointer("/usage/total_tokens").and_then(Value::as_u64).unwrap_or_default(),
    })
}

fn tool_use(call: &Value) -> Result<ToolUse, ChatError> {
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str);
    let (Some(id), Some(name)) = (text("/id"), text("/function/name")) else {
        return Err(ChatError::Malformed("a use of a tool has no id or name"));
    };
    let written = text("/function/arguments").unwrap_or("{}");
    // Models write arguments that are no JSON; the server sees what was written.
    let input = match parse(written.as_bytes()) {
        Ok(input @ Value::Object(_)) => input,
        _ => object! { "_raw" => written }.into(),
    };
    Ok(ToolUse { id: id.to_owned(), name: name.to_owned(), input })
}

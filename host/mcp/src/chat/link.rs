//! An agent behind a chat endpoint, as a connected server.

use std::sync::Arc;
use std::time::Duration;

use portcullis_config::ChatEndpoint;
use portcullis_gates::{Call, Cleared};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, Digest, Principal, ServerName, object};
use rmcp::model::ProtocolVersion;

use super::desk::{Desk, Place};
use super::tools::{self, Wanted};
use super::{Asking, ChatBook, ChatClient, ChatError};
use crate::gateway::{Answer, Boxed, Caller, Greeting, Link, LinkError, Pages};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::{Listable, Verb};

/// An agent behind a chat endpoint, for one principal.
pub(crate) struct ChatLink {
    name: ServerName,
    principal: Principal,
    client: Arc<ChatClient>,
    desk: Arc<Desk>,
    greeting: Greeting,
    /// How long an answer may take.
    limit: Duration,
}

impl ChatLink {
    /// Prepares an agent. Nothing is sent before it is asked something.
    pub(crate) fn new(
        name: &ServerName,
        principal: Principal,
        endpoint: &ChatEndpoint,
        timeout: Duration,
        book: &ChatBook,
    ) -> Result<Self, ChatError> {
        let client = Arc::new(ChatClient::new(endpoint)?);
        let greeting = Greeting {
            revision: ProtocolVersion::LATEST_WITH_INITIALIZE.as_str().to_owned(),
            implementation: Some(concat!("portcullis-chat ", env!("CARGO_PKG_VERSION")).to_owned()),
            capabilities: object! { "tools" => object! {} }.into(),
            instructions: None,
        };
        let limit = client.timeout().unwrap_or(timeout);
        Ok(Self { name: name.clone(), principal, client, desk: book.desk(name, endpoint), greeting, limit })
    }

    async fn answer(&self, call: &Call) -> Value {
        let wanted = match tools::read(&call.name, &call.params) {
            Ok(wanted) => wanted,
            Err(problem) => return failed(&problem.to_string()),
        };
        match wanted {
            Wanted::Ask { prompt, session, later: false } => {
                let Some(place) = self.desk.place() else {
                    return failed(BUSY);
                };
                let exchange = self.exchange(prompt, session);
                match exchange.run(&place, || {}).await {
                    Ok(answer) => said(answer),
                    Err(problem) => failed(&problem),
                }
            }
            Wanted::Ask { prompt, session, later: true } => self.begin(prompt, session),
            Wanted::Check(id) => said(self.desk.jobs().tell(&self.principal, &id).to_json()),
            Wanted::Cancel(id) => {
                let mut jobs = self.desk.jobs();
                jobs.cancel(&self.principal, &id);
                said(jobs.tell(&self.principal, &id).to_json())
            }
            Wanted::Reset => {
                let counts = self.desk.jobs().forget(&self.principal);
                self.desk.conversations().forget(&self.principal);
                let mut by_status = Object::new();
                for (state, count) in &counts {
                    by_status.insert(state.as_str(), *count);
                }
                let cleared: u64 = counts.values().sum();
                said(Value::from(object! { "cleared" => cleared, "by_status" => by_status }).to_json())
            }
        }
    }

    /// Begins a job, which goes on whatever becomes of this connection.
    fn begin(&self, prompt: String, session: Option<String>) -> Value {
        let entered = self.desk.jobs().enter(&self.principal, session.as_deref(), &prompt);
        let id = match entered {
            Ok(id) => id,
            Err(problem) => return failed(&problem.to_string()),
        };
        let exchange = self.exchange(prompt, session);
        let (desk, job) = (Arc::clone(&self.desk), id.clone());
        let task = tokio::spawn(async move {
            let outcome = match desk.place() {
                Some(place) => exchange.run(&place, || desk.jobs().start(&job)).await,
                None => Err(BUSY.to_owned()),
            };
            desk.jobs().finish(&job, outcome);
        });
        self.desk.jobs().attach(&id, task.abort_handle());
        said(Value::from(object! { "job_id" => id, "status" => "pending" }).to_json())
    }

    fn exchange(&self, prompt: String, session: Option<String>) -> Exchange {
        Exchange {
            client: Arc::clone(&self.client),
            desk: Arc::clone(&self.desk),
            name: self.name.clone(),
            principal: self.principal.clone(),
            limit: self.limit,
            prompt,
            session,
        }
    }
}

const BUSY: &str = "the agent has as much to do as it may have; try again later";

/// A question on its way.
struct Exchange {
    client: Arc<ChatClient>,
    desk: Arc<Desk>,
    name: ServerName,
    principal: Principal,
    limit: Duration,
    prompt: String,
    session: Option<String>,
}

impl Exchange {
    /// Waits for a turn, asks, and returns the answer or what is told of the failure.
    async fn run(self, place: &Place<'_>, began: impl FnOnce()) -> Result<String, String> {
        let _turn = self.desk.turn(place).await.ok_or("the agent is another one now")?;
        began();
        let question: Value = object! { "role" => "user", "content" => self.prompt.as_str() }.into();
        let kept = self.session.as_deref().filter(|_| !self.client.keeps_conversations());
        let mut messages = match kept {
            Some(session) => {
                let recalled = self.desk.conversations().recall(&self.principal, session, self.prompt.len());
                recalled.map_err(|full| full.to_string())?
            }
            None => Vec::new(),
        };
        messages.push(question);
        let session =
            self.session.as_deref().filter(|_| self.client.keeps_conversations()).map(|name| self.bound(name));
        let asking = Asking { messages, session, ..Asking::default() };
        let completion = self.client.complete(asking, self.limit).await.map_err(|error| {
            tracing::warn!(server = %self.name, error = &error as &dyn std::error::Error, "an agent did not answer");
            error.to_string()
        })?;
        if completion.text.is_empty() {
            return Err("the agent answered with no text".to_owned());
        }
        if let Some(session) = kept {
            self.desk.conversations().remember(&self.principal, session, &self.prompt, &completion.text);
        }
        Ok(completion.text)
    }

    /// Returns the name of a conversation for the endpoint: nobody gets into one of another principal by its name.
    fn bound(&self, name: &str) -> String {
        let parts = [self.name.as_str().as_bytes(), b"\0", self.principal.as_str().as_bytes(), b"\0", name.as_bytes()];
        Digest::of_parts(parts).to_string().chars().filter(char::is_ascii_alphanumeric).collect()
    }
}

fn said(text: String) -> Value {
    object! { "content" => vec![Value::from(object! { "type" => "text", "text" => text })] }.into()
}

fn failed(text: &str) -> Value {
    let content = vec![Value::from(object! { "type" => "text", "text" => text })];
    object! { "content" => content, "isError" => true }.into()
}

impl Link for ChatLink {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn call<'a>(&'a self, call: &'a Cleared<Call>, _: Verb, _: Caller) -> Boxed<'a, Result<Answer, LinkError>> {
        Box::pin(async move {
            let call = call.get();
            if call.kind != CallKind::Tool {
                return Ok(Err(ErrorObject::new(code::METHOD_NOT_FOUND, "this server has tools alone")));
            }
            Ok(Ok(self.answer(call).await))
        })
    }

    fn list(&self, listable: Listable) -> Boxed<'_, Result<Pages, LinkError>> {
        let items = if listable == Listable::Tools { tools::listed() } else { Vec::new() };
        Box::pin(std::future::ready(Ok(Pages { items, incomplete: None, ttl_ms: None })))
    }

    /// There is nothing that could be asked for life: the endpoint is reached with each question.
    /// Jobs are asked for by `check`; an agent has no tasks of its own.
    fn listen_for_task(&self, _: &str, _: bool) {}

    fn ask(&self, _: &'static str, _: Value) -> Boxed<'_, Result<Answer, LinkError>> {
        Box::pin(std::future::ready(Ok(Ok(Object::new().into()))))
    }

    fn tell(&self, _: &'static str) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Jobs go on: whoever began them may be back.
    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

//! Cases on their way through the gates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use portcullis_config::Surroundings;
use portcullis_gates::{
    Call, Context, Gates, Journal, Launching, Listed, ListedItem, PolicySet, ServerMessage, Session, annotations,
    field_digests,
};
use portcullis_model::json::Value;
use portcullis_model::{
    CallKind, ClientFacts, Era, ItemKind, Occasion, PinState, Pinned, Principal, ResultKind, ServerName, SessionId,
    object,
};

use super::approver::Consent;
use super::case::{Case, Form, Matter, Step};
use super::level::Outcome;
use crate::arguments::Asked;
use crate::probe::{Records, server_entry};

/// Gates with the policies that are measured.
pub(super) struct Examiner {
    gates: Gates,
    records: Arc<Records>,
    approver: Arc<Consent>,
    surroundings: Surroundings,
    cases: AtomicU64,
}

impl Examiner {
    pub(super) fn new(set: PolicySet, approver: Asked) -> Self {
        let records = Arc::new(Records::default());
        Self {
            gates: Gates::new(set, Arc::clone(&records) as Arc<dyn Journal>),
            records,
            approver: Arc::new(Consent(approver)),
            // Entries of strangers name variables that nobody here has.
            surroundings: Surroundings::new(|name| Some(format!("value-of-{name}")))
                .with_home("/home/user")
                .with_workspace("/home/user/workspace"),
            cases: AtomicU64::new(0),
        }
    }

    /// Lets one case pass its gates, in a session of its own.
    pub(super) async fn judge(&self, case: &Case) -> Outcome {
        let (Some(context), Some(server)) = (self.context(), server_name(&case.server)) else {
            return Outcome::unreadable("the server cannot be named".to_owned());
        };
        match &case.matter {
            Matter::Item(document) => self.list(&context, server, &case.tool, ItemKind::Tool, document, None).await,
            Matter::Instructions(text) => {
                let document = Value::from(text.as_str());
                self.list(&context, server, "", ItemKind::Instructions, &document, None).await
            }
            Matter::Drift { before, after } => {
                self.list(&context, server, &case.tool, ItemKind::Tool, after, Some(before)).await
            }
            Matter::Entry(document) => self.launch(&context, &case.server, document).await,
            Matter::Text(text) => {
                let mut outcome = Outcome::default();
                self.answer(&context, &server, &case.tool, &Value::from(text.as_str()), case.form, &mut outcome).await;
                outcome
            }
            Matter::Trace(steps) => self.trace(&context, &server, case, steps).await,
        }
    }

    fn context(&self) -> Option<Context> {
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let session = Session::new(
            SessionId::parse(&format!("case-{number}")).ok()?,
            Principal::parse(&format!("principal-{number}")).ok()?,
            ClientFacts::default(),
            Era::Initialize,
        );
        Some(self.gates.context(Arc::new(session), Arc::clone(&self.approver) as _, None))
    }

    async fn list(
        &self,
        context: &Context,
        server: ServerName,
        name: &str,
        kind: ItemKind,
        document: &Value,
        before: Option<&Value>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let item = ListedItem { server, kind, name: name.to_owned(), document: document.clone() };
        let pinned = before.map(|before| Pinned {
            digest: before.digest(),
            fields: field_digests(before),
            document: before.clone(),
        });
        let begin = Instant::now();
        let _judged = self.gates.listing(context, vec![Listed { item, pinned }], Arc::default()).await;
        outcome.took = begin.elapsed();
        outcome.take(self.records.take(), true);
        outcome
    }

    async fn launch(&self, context: &Context, server: &str, document: &Value) -> Outcome {
        let entry = match server_entry(server, document, &self.surroundings) {
            Ok(entry) => entry,
            Err(failure) => return Outcome::unreadable(failure.to_string()),
        };
        let mut outcome = Outcome::default();
        let begin = Instant::now();
        let _judged = self.gates.config(context, Launching { entry, occasion: Occasion::Save }).await;
        outcome.took = begin.elapsed();
        outcome.take(self.records.take(), true);
        outcome
    }

    /// Lets a result pass; what it does to it counts where the case is about results.
    async fn answer(
        &self,
        context: &Context,
        server: &ServerName,
        tool: &str,
        result: &Value,
        form: Form,
        outcome: &mut Outcome,
    ) {
        let message = ServerMessage {
            server: server.clone(),
            kind: ResultKind::Result,
            name: tool.to_owned(),
            document: result_document(result),
        };
        let begin = Instant::now();
        let _judged = self.gates.result(context, message).await;
        outcome.took += begin.elapsed();
        outcome.take(self.records.take(), form != Form::Trace);
    }

    /// Lets the calls of a trace and their results pass in order, whatever is said of each: one that is stopped would
    /// spare the others. Where the case is bad, what counts are the calls that somebody else wanted.
    async fn trace(&self, context: &Context, server: &ServerName, case: &Case, steps: &[Step]) -> Outcome {
        let mut outcome = Outcome::default();
        let any_injected = steps.iter().any(|step| step.injected);
        for step in steps {
            let call = Call {
                server: server.clone(),
                kind: CallKind::Tool,
                name: step.tool.clone(),
                utility: false,
                annotations: annotations(&object! { "annotations" => step.annotations.clone() }.into()),
                pin: PinState::Approved,
                definition: None,
                params: object! { "name" => step.tool.as_str(), "arguments" => step.arguments.clone() }.into(),
            };
            let begin = Instant::now();
            let _judged = self.gates.call(context, call).await;
            outcome.took += begin.elapsed();
            outcome.take(self.records.take(), step.injected || !(case.is_bad() && any_injected));
            self.answer(context, server, &step.tool, &step.result, case.form, &mut outcome).await;
        }
        outcome
    }
}

/// Returns a text as the result of a tool; what is no text is taken as structured content.
fn result_document(result: &Value) -> Value {
    if result.get("content").is_some() {
        return result.clone();
    }
    let text = |text: &str| vec![Value::from(object! { "type" => "text", "text" => text })];
    if let Some(words) = result.as_str() {
        return object! { "content" => text(words) }.into();
    }
    object! { "content" => text(&result.to_json()), "structuredContent" => result.clone() }.into()
}

/// Returns a name for the server. One that no server can have is written with hyphens: names of servers are judged with
/// their entries, as they are.
fn server_name(name: &str) -> Option<ServerName> {
    let plain = || name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(64).collect::<String>();
    ServerName::parse(name).or_else(|_| ServerName::parse(&plain())).ok()
}

//! One policy behind real gates, for tools: what it would make of a document.

use std::sync::{Arc, Mutex, PoisonError};

use portcullis_config::{Config, Surroundings};
use portcullis_gates::{
    ActivePolicy, Call, Context, Environment, Gates, Isolation, Journal, JournalFuture, Launching, Listed, ListedItem,
    Mode, NoApprover, OnFault, PolicySet, PolicySource, Record, Refusal, ServerMessage, ServerRequest, Session,
};
use portcullis_model::json::Value;
use portcullis_model::{
    Annotations, CallKind, ClientFacts, Era, GateName, ItemKind, Occasion, Origin, PinState, Principal, RequestKind,
    ResultKind, Sampling, Secret, ServerEntry, ServerName, SessionId, object,
};
use portcullis_runtime::{Budget, Loaded};

use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// A policy behind gates of its own.
pub(crate) struct Probe {
    gates: Gates,
    session: Arc<Session>,
    records: Arc<Records>,
}

/// What passes a gate.
pub(crate) struct Passing {
    pub(crate) gate: GateName,
    pub(crate) server: ServerName,
    pub(crate) tool: String,
    pub(crate) document: Value,
}

/// What came of it.
pub(crate) struct Passed {
    /// The document as it would go on, or why it would not.
    pub(crate) outcome: Result<Value, String>,
    /// What the gate recorded.
    pub(crate) records: Vec<Record>,
}

impl Probe {
    /// Puts a policy behind gates, with all the rights that it wants.
    pub(crate) fn new(loaded: &Loaded) -> Result<Self, Failure> {
        Self::of(active(loaded))
    }

    /// Puts a policy behind gates, as it is to be applied.
    pub(crate) fn of(policy: ActivePolicy) -> Result<Self, Failure> {
        let records = Arc::new(Records::default());
        let session = Session::new(
            SessionId::parse("probe").or_exit(Exit::Internal, "naming the session")?,
            Principal::parse("operator").or_exit(Exit::Internal, "naming the principal")?,
            ClientFacts::default(),
            Era::Initialize,
        );
        let gates = Gates::new(PolicySet::new(vec![Arc::new(policy)]), Arc::clone(&records) as Arc<dyn Journal>);
        Ok(Self { gates, session: Arc::new(session), records })
    }

    /// Lets a document pass, or not.
    pub(crate) async fn pass(&self, passing: &Passing) -> Result<Passed, Failure> {
        let context = self.gates.context(Arc::clone(&self.session), Arc::new(NoApprover), None);
        let outcome = match passing.gate {
            GateName::Config => self.config(&context, passing).await?,
            GateName::Environment => self.environment(&context, passing).await?,
            GateName::Listing => self.listing(&context, passing).await,
            GateName::Call => {
                let cleared = self.gates.call(&context, call(passing)).await;
                cleared.map(|cleared| cleared.get().params.clone())
            }
            GateName::Result => {
                let cleared = self.gates.result(&context, message(passing)).await;
                cleared.map(|cleared| cleared.get().document.clone())
            }
            GateName::Request => {
                let cleared = self.gates.request(&context, request(passing)).await;
                cleared.map(|(cleared, limits)| {
                    object! { "params" => cleared.get().document.clone(), "limits" => limits }.into()
                })
            }
        };
        Ok(Passed { outcome: outcome.map_err(|refusal| why(&refusal)), records: self.records.take() })
    }

    async fn config(&self, context: &Context, passing: &Passing) -> Result<Result<Value, Refusal>, Failure> {
        let launching = Launching { entry: entry(passing)?, occasion: Occasion::Probe };
        let cleared = self.gates.config(context, launching).await;
        Ok(cleared.map(|cleared| cleared.get().entry.document.clone()))
    }

    async fn environment(&self, context: &Context, passing: &Passing) -> Result<Result<Value, Refusal>, Failure> {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        // Only names are judged; the values have no place in a tool.
        let variables = names.map(|name| (name, Secret::new(""))).collect();
        let offered = Environment { entry: entry(passing)?, variables, tagged: Vec::new() };
        let cleared = self.gates.environment(context, offered).await;
        Ok(cleared.map(|cleared| {
            Value::from(cleared.get().variables.iter().map(|(name, _)| Value::from(name.as_str())).collect::<Vec<_>>())
        }))
    }

    async fn listing(&self, context: &Context, passing: &Passing) -> Result<Value, Refusal> {
        let item = ListedItem {
            server: passing.server.clone(),
            kind: ItemKind::Tool,
            name: passing.tool.clone(),
            document: passing.document.clone(),
        };
        let listed = vec![Listed { item, pinned: None }];
        match self.gates.listing(context, listed, Arc::default()).await.into_iter().next() {
            Some(Ok(cleared)) => Ok(cleared.get().document.clone()),
            Some(Err(withheld)) => Err(withheld.refusal),
            None => Ok(Value::Null),
        }
    }
}

/// Returns a policy as it judges here: enforced, with all the rights that it wants.
pub(crate) fn active(loaded: &Loaded) -> ActivePolicy {
    ActivePolicy {
        description: Arc::clone(&loaded.description),
        digest: loaded.digest,
        source: PolicySource::Config("command line".to_owned()),
        gates: loaded.gates().to_vec(),
        rights: loaded.description.wants,
        mode: Mode::Enforce,
        on_fault: OnFault::Deny,
        evaluator: Arc::new(loaded.evaluator(Budget::DEFAULT, Isolation::Fresh)),
    }
}

fn why(refusal: &Refusal) -> String {
    let by = refusal.policy.as_ref().map_or_else(|| "the gate".to_owned(), |policy| format!("`{policy}`"));
    format!("{} by {by}: {}", refusal.code.as_str(), refusal.detail)
}

fn entry(passing: &Passing) -> Result<Arc<ServerEntry>, Failure> {
    server_entry(passing.server.as_str(), &passing.document, &Surroundings::process())
}

/// Reads a document as the config of a server.
pub(crate) fn server_entry(
    name: &str,
    document: &Value,
    surroundings: &Surroundings,
) -> Result<Arc<ServerEntry>, Failure> {
    let config = object! { "mcp_servers" => object! { name => document.clone() } };
    let text = Value::from(config).to_json();
    let config = Config::parse(&text, "document", Origin::ConfigFile, surroundings);
    let server = config.server(name).map(|server| Arc::clone(&server.entry));
    server.ok_or_else(|| {
        let mistakes: Vec<_> = config.diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect();
        Failure::new(Exit::Config, format!("the document is no server entry: {}", mistakes.join("; ")))
    })
}

fn call(passing: &Passing) -> Call {
    // Arguments alone are what people write by hand.
    let params = if passing.document.get("arguments").is_some() {
        passing.document.clone()
    } else {
        object! { "name" => passing.tool.as_str(), "arguments" => passing.document.clone() }.into()
    };
    Call {
        server: passing.server.clone(),
        kind: CallKind::Tool,
        name: passing.tool.clone(),
        utility: false,
        annotations: Annotations::default(),
        pin: PinState::Unpinned,
        definition: None,
        params,
    }
}

fn message(passing: &Passing) -> ServerMessage {
    let kind = if passing.document.get("code").is_some() { ResultKind::Error } else { ResultKind::Result };
    ServerMessage {
        server: passing.server.clone(),
        kind,
        name: passing.tool.clone(),
        document: passing.document.clone(),
    }
}

fn request(passing: &Passing) -> ServerRequest {
    let document = &passing.document;
    let kind = if document.get("messages").is_some() {
        RequestKind::Sampling(Sampling {
            max_tokens: document.get("maxTokens").and_then(Value::as_u64),
            models: Vec::new(),
            tools: document.get("tools").is_some(),
        })
    } else if let Some(url) = document.get("url").and_then(Value::as_str) {
        RequestKind::ElicitationUrl(url.to_owned())
    } else if document.get("requestedSchema").is_some() {
        RequestKind::ElicitationForm(Vec::new())
    } else {
        RequestKind::Roots
    };
    ServerRequest { server: passing.server.clone(), kind, document: document.clone() }
}

/// A journal that is handed out.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<Vec<Record>>);

impl Records {
    /// Hands out what was recorded since the last time.
    pub(crate) fn take(&self) -> Vec<Record> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Journal for Records {
    fn write(&self, record: Record) -> JournalFuture<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        Box::pin(std::future::ready(Ok(())))
    }
}

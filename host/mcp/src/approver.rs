//! Asking the client's user by elicitation.
//!
//! The client is the model's own host: it may answer by itself. So its answer counts for one call or one session
//! only, an acceptance alone is no approval, and a client that is known to accept by itself is never asked.

mod form;
mod shown;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use portcullis_config::Approvals;
use portcullis_gates::{Approver, Prompt, Reply};
use portcullis_model::ApproverClass;
use portcullis_model::json::Value;

pub(crate) use form::Form;
pub(crate) use shown::shown;

/// What the approver needs of a client.
pub(crate) trait Elicit: Send + Sync {
    /// Sends `elicitation/create` with these parameters. Nothing where the client did not answer with a result.
    /// Dropping the future withdraws the request.
    fn elicit(&self, params: Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send + '_>>;

    /// Returns names of other things that are published, for the form to hide the right one among.
    fn decoys(&self) -> Vec<String>;
}

/// Clients that accept every elicitation by themselves: drivers of the conformance suite.
const AUTO_ANSWERING: [&str; 3] = ["mcp-conformance-client", "conformance-test-client", "conformance-client"];

/// Returns true where a client of that name is known to answer by itself.
pub fn answers_by_itself(approvals: &Approvals, client: &str) -> bool {
    let configured = approvals.auto_answerers.iter().map(String::as_str);
    AUTO_ANSWERING.into_iter().chain(configured).any(|name| name.eq_ignore_ascii_case(client))
}

/// Returns true where a client of that name, with these capabilities, may be asked.
pub(crate) fn may_be_asked(approvals: &Approvals, client: &str, capabilities: &Value) -> bool {
    let by_form = match capabilities.get("elicitation") {
        // The empty object of 2025-06-18 means forms; later revisions name the modes.
        Some(Value::Object(modes)) => modes.is_empty() || modes.contains_key("form"),
        _ => false,
    };
    approvals.client && by_form && !answers_by_itself(approvals, client)
}

/// Asks one client, if it may be asked.
pub(crate) struct ClientApprover {
    client: Arc<dyn Elicit>,
    permitted: bool,
}

impl ClientApprover {
    /// Wraps a client. Where it is not `permitted`, there is nobody to ask.
    pub(crate) fn new(client: Arc<dyn Elicit>, permitted: bool) -> Self {
        Self { client, permitted }
    }
}

impl Approver for ClientApprover {
    fn class(&self) -> Option<ApproverClass> {
        self.permitted.then_some(ApproverClass::Client)
    }

    fn ask(&self, prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(async move {
            if !self.permitted {
                return Reply::Unavailable;
            }
            let form = Form::new(&prompt, &self.client.decoys());
            match self.client.elicit(form.params()).await {
                Some(result) => form.judge(&result),
                None => Reply::Unavailable,
            }
        })
    }
}

#[cfg(test)]
mod tests;

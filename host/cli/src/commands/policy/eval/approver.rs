//! Somebody who can be asked while cases are judged.

use std::future::{Future, ready};
use std::pin::Pin;

use portcullis_gates::{Approver, Prompt, Reply, Scope};
use portcullis_model::ApproverClass;

use crate::arguments::Asked;

/// Says yes to everything, once: what comes after an approved call is measured, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consent(pub(super) Asked);

impl Approver for Consent {
    fn class(&self) -> Option<ApproverClass> {
        match self.0 {
            Asked::Operator => Some(ApproverClass::Operator),
            Asked::Client => Some(ApproverClass::Client),
            Asked::Nobody => None,
        }
    }

    fn ask(&self, _prompt: Prompt) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(ready(if self.class().is_some() { Reply::Approved(Scope::Once) } else { Reply::Unavailable }))
    }
}

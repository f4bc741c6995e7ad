//! What the host remembers of a session, so that policies need not.

use std::collections::BTreeMap;
use std::sync::Mutex;

use portcullis_model::{ClientFacts, Era, LabelFact, Principal, SessionId};

/// One session: a stdio process, a legacy HTTP session, or a stateless client with its idle window.
#[derive(Debug)]
pub struct Session {
    /// Its opaque name.
    pub id: SessionId,
    /// Whom it belongs to.
    pub principal: Principal,
    /// The client's claim.
    pub client: ClientFacts,
    /// The client's lifecycle.
    pub era: Era,
    labels: Mutex<Vec<LabelFact>>,
    approved: Mutex<BTreeMap<String, ()>>,
}

/// All live sessions.
#[derive(Debug, Default)]
pub struct Sessions {}

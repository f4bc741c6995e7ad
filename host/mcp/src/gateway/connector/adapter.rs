//! From what a server sends to whom it concerns.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_model::json::{Object, Value};
use rmcp::model::{ConstString as _, ProgressNotificationMethod};

use crate::gateway::{OnProgress, ServerPeer};
use crate::jsonrpc::ErrorObject;
use crate::upstream::{BoxFuture, CallerId, CloseReason, Peer};

/// Who waits for progress, by the token that the server was given in the end.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) next: AtomicU64,
    waiting: Mutex<HashMap<u64, OnProgress>>,
}

impl Progress {
    pub(super) fn waiting(&self) -> MutexGuard<'_, HashMap<u64, OnProgress>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for progress until it is dropped.
pub(super) struct Waiting<'a>(pub(super) &'a Progress, pub(super) u64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting().remove(&self.1);
    }
}

/// What a server sends, on its way to the gateway.
pub(super) struct PeerAdapter {
    pub(super) peer: Arc<ServerPeer>,
    pub(super) progress: Arc<Progress>,
}

impl Peer for PeerAdapter {
    fn request(
        &self,
        method: String,
        params: Option<Value>,
        key: Option<String>,
    ) -> BoxFuture<'_, Result<Value, ErrorObject>> {
        let params = params.unwrap_or_else(|| Object::new().into());
        Box::pin(async move { self.peer.request(&method, params, key.as_deref()).await })
    }

    fn request_of(
        &self,
        caller: Option<CallerId>,
        method: String,
        params: Option<Value>,
        key: Option<String>,
    ) -> BoxFuture<'_, Result<Value, ErrorObject>> {
        let params = params.unwrap_or_else(|| Object::new().into());
        Box::pin(async move { self.peer.request_of(caller, &method, params, key.as_deref()).await })
    }

    fn notification_of(&self, caller: CallerId, method: String, params: Option<Value>) {
        let params = params.unwrap_or_else(|| Object::new().into());
        self.peer.notification_of(caller, &method, params);
    }

    fn notification(&self, method: String, params: Option<Value>) {
        let params = params.unwrap_or_else(|| Object::new().into());
        if method != ProgressNotificationMethod::VALUE {
            return self.peer.notification(&method, params);
        }
        let token = params.get("progressToken").and_then(Value::as_u64);
        let on_progress = token.and_then(|token| self.progress.waiting().get(&token).cloned());
        if let Some(on_progress) = on_progress {
            on_progress(params);
        }
    }

    fn stderr(&self, line: String) {
        self.peer.stderr(&line);
    }

    fn closed(&self, reason: CloseReason) {
        if reason == CloseReason::SessionExpired {
            self.peer.expired(reason.to_string());
        } else {
            self.peer.closed(reason.to_string());
        }
    }
}

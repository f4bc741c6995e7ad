//! What the gateway remembers for agents behind chat endpoints, over all their connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_config::ChatEndpoint;
use portcullis_model::ServerName;

use super::desk::Desk;

/// The desks of all such servers. A server is connected anew after every pause; what it was given to do goes on.
#[derive(Debug, Default)]
pub(crate) struct ChatBook(Mutex<BTreeMap<ServerName, Kept>>);

#[derive(Debug)]
struct Kept {
    endpoint: ChatEndpoint,
    desk: Arc<Desk>,
}

impl ChatBook {
    /// Returns the desk of a server. Behind another endpoint it is another agent, which starts with an empty one.
    pub(super) fn desk(&self, server: &ServerName, endpoint: &ChatEndpoint) -> Arc<Desk> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get(server) {
            Some(known) if known.endpoint == *endpoint => Arc::clone(&known.desk),
            _ => {
                let desk = Arc::new(Desk::default());
                let entry = Kept { endpoint: endpoint.clone(), desk: Arc::clone(&desk) };
                if let Some(former) = kept.insert(server.clone(), entry) {
                    former.desk.close();
                }
                desk
            }
        }
    }
}

impl Drop for ChatBook {
    fn drop(&mut self) {
        let kept = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for kept in kept.values() {
            kept.desk.close();
        }
    }
}

//! Answers to lists.

use portcullis_model::json::Value;

use super::snapshot::group_of;
use super::{Gateway, instructions};
use crate::downstream::{ClientSession, Reply};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::ClientMethod;

impl Gateway {
    /// Answers a list. The first ones wait a while for servers that are starting, so that a client that asks only once
    /// gets everything.
    pub(crate) async fn list(&self, session: &ClientSession, method: ClientMethod) -> Reply {
        let _ = tokio::time::timeout(self.options.list_wait, self.settled()).await;
        let group = group_of(method);
        // Noted before the list is taken: a change in between is then told once too often, not once too rarely.
        session.note_listed(group, self.versions.borrow().of(group));
        match self.snapshot().list(method) {
            Some(list) => Reply::Shared(list),
            None => Reply::Error(ErrorObject::new(code::METHOD_NOT_FOUND, "this method is not offered")),
        }
    }

    /// Tells all clients which servers are not available, as a log message that their users can see.
    pub(crate) fn tell_operator(&self, server: &super::server::Server) {
        let Some(text) = instructions::down(&[server.status()]) else {
            return;
        };
        let params: Value = portcullis_model::object! {
            "level" => crate::downstream::LogLevel::Warning.as_str(),
            "logger" => "portcullis",
            "data" => text,
        }
        .into();
        for session in self.sessions() {
            if session.wants(crate::downstream::LogLevel::Warning) {
                session.link.notify(
                    <rmcp::model::LoggingMessageNotificationMethod as rmcp::model::ConstString>::VALUE,
                    Some(&params),
                );
            }
        }
    }
}

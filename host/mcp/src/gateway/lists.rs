//! Answers to lists.

use portcullis_model::json::Value;
use portcullis_model::object;
use rmcp::model::{ConstString as _, LoggingMessageNotificationMethod};

use super::snapshot::group_of;
use super::{Gateway, instructions};
use crate::downstream::{ClientSession, LogLevel, Reply};
use crate::method::Listable;

impl Gateway {
    /// Answers a list. The first ones wait a while for servers that are starting, so that a client that asks only once
    /// gets everything.
    pub(crate) async fn list(&self, session: &ClientSession, listable: Listable) -> Reply {
        let _ = tokio::time::timeout(self.options.list_wait, self.settled()).await;
        let group = group_of(listable);
        // Noted before the list is taken: a change in between is then told once too often, not once too rarely.
        session.note_listed(group, self.versions.borrow().of(group));
        Reply::Shared(self.snapshot().list(listable))
    }

    /// Tells all clients which servers are not available, as a log message that their users can see.
    pub(crate) fn tell_operator(&self, server: &super::server::Server) {
        let Some(text) = instructions::down(&[server.status()]) else {
            return;
        };
        let params: Value = object! {
            "level" => LogLevel::Warning.as_str(),
            "logger" => "portcullis",
            "data" => text,
        }
        .into();
        for session in self.sessions() {
            if session.wants(LogLevel::Warning) {
                session.link.notify(LoggingMessageNotificationMethod::VALUE, Some(&params));
            }
        }
    }
}

//! Answers to lists.

use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::{Era, object};
use rmcp::model::{ConstString as _, LoggingMessageNotificationMethod};

use super::snapshot::{earlier_list, group_of, provider_list};
use super::{Fleet, instructions};
use crate::downstream::{ClientSession, LogLevel, Reply, Schemas};
use crate::method::Listable;

/// Lists wait so long for the first policies, before they wait for servers. With an empty cache they have to be compiled,
/// and an empty list would be taken for the truth; most clients give up after a minute.
const POLICY_WAIT: Duration = Duration::from_secs(45);

impl Fleet {
    /// Answers a list. The first ones wait a while for servers that are starting, so that a client that asks only once
    /// gets everything.
    pub(crate) async fn list(&self, session: &ClientSession, listable: Listable) -> Reply {
        self.wait_for_servers().await;
        let group = group_of(listable);
        // Noted before the list is taken: a change in between is then told once too often, not once too rarely.
        session.note_listed(group, self.versions.borrow().of(group));
        let snapshot = self.snapshot();
        let is_for_provider = session.entrance.schemas == Schemas::Provider && listable == Listable::Tools;
        match &session.entrance.scope {
            Some(server) if is_for_provider => {
                Reply::Own(provider_list(earlier_list(snapshot.list_of(listable, server))))
            }
            Some(server) => Reply::Own(earlier_list(snapshot.list_of(listable, server))),
            None if is_for_provider => Reply::Shared(snapshot.tools_for_provider(Era::Initialize)),
            None => Reply::Shared(snapshot.list_earlier(listable)),
        }
    }

    /// Waits for the first policies, and then a while for servers that are starting.
    pub(crate) async fn wait_for_servers(&self) {
        if let Some(mut ready) = self.options().ready.clone() {
            // Where the policies never come, every gate is shut, and what is published says so.
            let _ = tokio::time::timeout(POLICY_WAIT, ready.wait_for(|ready| *ready)).await;
        }
        let _ = tokio::time::timeout(self.options().list_wait, self.settled()).await;
    }

    /// Tells all clients which servers are not available, as a log message that their users can see.
    pub(crate) fn tell_operator(&self, server: &super::server::Server) {
        if !self.members().contains(server) {
            // One of its name may work; what is published tells of that one.
            return;
        }
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
                session.link.notify(None, LoggingMessageNotificationMethod::VALUE, Some(&params));
            }
        }
    }
}

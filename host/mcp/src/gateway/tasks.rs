//! Tasks: tool calls that go on after their request was answered, of revision 2025-11-25 and of the tasks extension of
//! 2026-07-28.
//!
//! The call gate judges the call that makes a task, and whatever comes of it passes the result gate with the call as
//! context. A client knows its tasks by ids of the gateway, which name nothing but what this client made: the server's own
//! ids are told to nobody.

mod begin;
mod book;
mod document;
mod follow;
mod inputs;
mod known;
mod listen;
mod reply;

use portcullis_model::json::Value;
use rmcp::model::TASKS_EXTENSION_ID;

use super::Gateway;
use super::server::Server;
use super::shared::Shared;
use crate::downstream::Entrance;

pub(crate) use book::TaskBook;
pub(super) use follow::follow;
pub(super) use listen::{set as listen_for, state_only};

/// In which way a server makes tasks of tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskForm {
    /// By the tasks extension of 2026-07-28: the server decides which call becomes one.
    Extension,
    /// As in 2025-11-25: the client asks for it with the call.
    Augmented {
        /// True where it offers to cancel them.
        cancel: bool,
    },
}

impl TaskForm {
    /// Reads a server's capabilities.
    pub(crate) fn offered(is_stateless: bool, capabilities: &Value) -> Option<Self> {
        if is_stateless {
            let extension = capabilities.get("extensions")?.get(TASKS_EXTENSION_ID)?;
            return extension.as_object().map(|_| Self::Extension);
        }
        let tasks = capabilities.get("tasks")?;
        tasks.pointer("/requests/tools/call").filter(|call| !call.is_null())?;
        Some(Self::Augmented { cancel: tasks.get("cancel").is_some_and(|cancel| !cancel.is_null()) })
    }

    /// Returns true where a client of the stateless era can use it; else one of the era with `initialize` can.
    pub(crate) fn is_extension(self) -> bool {
        self == Self::Extension
    }
}

/// Returns true where a client of the stateless era declares that it takes tasks.
pub(crate) fn declares_tasks(capabilities: &Value) -> bool {
    let extension = capabilities.get("extensions").and_then(|extensions| extensions.get(TASKS_EXTENSION_ID));
    extension.is_some_and(|extension| extension.as_object().is_some())
}

impl Shared {
    /// Returns what tasks a server makes, as far as is known: it may be on its way, or asleep.
    pub(super) fn task_form(&self, server: &Server) -> Option<TaskForm> {
        match server.connected() {
            Some(connected) => connected.link.greeting().tasks(),
            None => self.tasks.known().of(server),
        }
    }
}

impl super::Fleet {
    /// Returns the forms of tasks that servers in a client's view make.
    pub(crate) fn task_forms(&self, entrance: &Entrance) -> Vec<TaskForm> {
        let members = self.members();
        let in_view = members.iter().filter(|server| entrance.admits(server.name()));
        in_view.filter_map(|server| self.shared.task_form(server)).collect()
    }
}

impl Gateway {
    /// Drops tasks whose time is over.
    pub(super) fn sweep_tasks(&self) {
        self.shared.tasks.sweep();
    }
}

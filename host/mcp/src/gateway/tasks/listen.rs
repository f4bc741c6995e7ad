//! Clients of the stateless era that listen for their tasks, and what servers tell them.

use std::sync::Arc;

use portcullis_model::json::Value;

use super::book::{Owner, Task};
use crate::downstream::ClientSession;
use crate::gateway::Fleet;
use crate::gateway::server::{Connected, Server};

/// Members of a task that are answers, questions and errors: whoever wants them asks for the task, and each passes its gate.
const ANSWERS: [&str; 3] = ["inputRequests", "result", "error"];

/// Takes what passes other gates out of what a server tells of a task by itself: its state remains.
pub(in crate::gateway) fn state_only(params: &mut Value) {
    if let Some(params) = params.as_object_mut() {
        for member in ANSWERS {
            params.remove(member);
        }
    }
}

impl Fleet {
    /// Has a session that listens hear of a task. Returns false where it is none of its own, or none that a server tells of on
    /// request.
    pub(crate) fn listen_for_task(&self, session: &Arc<ClientSession>, id: &str) -> bool {
        let Some(task) = self.shared.tasks.find(&Owner::of(session), id) else {
            return false;
        };
        let is_told = self.shared.task_form(&task.server).is_some_and(super::TaskForm::is_extension);
        if is_told && task.listen(session) {
            set(&task, true);
        }
        is_told
    }

    /// Ends what a session listened for.
    pub(in crate::gateway) fn release_tasks(&self, session: u64) {
        for task in self.shared.tasks.listened_for() {
            if task.stop_listening(session) {
                set(&task, false);
            }
        }
    }

    /// Listens again for the tasks of a server that is connected anew.
    pub(in crate::gateway) fn listen_anew(&self, server: &Arc<Server>, connected: &Connected) {
        let tasks = self.shared.tasks.listened_for();
        for task in tasks.iter().filter(|task| Arc::ptr_eq(&task.server, server)) {
            connected.link.listen_for_task(&task.own_id, true);
        }
    }
}

/// Has the server of a task tell of it, or not any more.
pub(in crate::gateway) fn set(task: &Task, listens: bool) {
    // One that is not connected is told once it is.
    if let Some(connected) = task.server.connected() {
        connected.link.listen_for_task(&task.own_id, listens);
    }
}

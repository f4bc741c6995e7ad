//! The questions that a call raises, put to whoever made it.

use std::sync::Arc;

use portcullis_config::Approvals;
use portcullis_gates::{Constraint, Gates, OperatorAnswer, Pending};
use portcullis_store::Home;

use crate::Failure;
use crate::terminal::{self, Person};

/// Puts questions to the person at the terminal until it is dropped.
pub(super) struct Answering {
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Begins to put questions to the person at the terminal, where there is one who may answer.
pub(super) fn start(home: &Home, approvals: &Approvals, gates: &Arc<Gates>) -> Result<Answering, Failure> {
    let task = terminal::person(home, approvals)?.map(|person| tokio::spawn(answer(person, Arc::clone(gates))));
    Ok(Answering { task })
}

async fn answer(person: Person, gates: Arc<Gates>) {
    let person = Arc::new(person);
    // Calls wait as long as somebody watches.
    let _attached = gates.inbox().attach();
    let mut changes = gates.inbox().changes();
    loop {
        changes.borrow_and_update();
        let open = |pending: &Pending| pending.answered.is_none();
        for pending in gates.inbox().pending().into_iter().filter(open) {
            let (person, prompt) = (Arc::clone(&person), pending.prompt.clone());
            let allow = tokio::task::spawn_blocking(move || person.answer(&prompt, "Allow it, this time?")).await;
            let allow = matches!(allow, Ok(Ok(true)));
            let answer = OperatorAnswer {
                allow,
                scope: None,
                constraint: Constraint::default(),
                surface: "terminal".to_owned(),
            };
            if let Err(error) = gates.answer(&pending.id, answer).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the answer does not count");
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

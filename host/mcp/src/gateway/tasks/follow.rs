//! A tool that runs as a task only, for a client that knows no tasks: the gateway waits for the end in its place.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use super::document::{RELATED_TASK, created};
use crate::gateway::{Answer, Link, LinkError};
use crate::method::TaskMethod;

/// Waits for what comes of a task that a server made of a call; any other answer is what came. Where the wait is given up
/// the task is cancelled.
pub(in crate::gateway) async fn follow(
    link: Arc<dyn Link>,
    answer: Answer,
    limit: Duration,
) -> Result<Answer, LinkError> {
    let form = link.greeting().tasks();
    let told = answer.as_ref().ok().and_then(|result| created(form?, result));
    let Some(told) = told else {
        return Ok(answer);
    };
    let params: Value = object! { "taskId" => told.id.as_str() }.into();
    let mut guard = Cancel(Some((Arc::clone(&link), params.clone())));
    let answer = link.ask_for(TaskMethod::Result.as_str(), params, limit).await;
    if answer.is_ok() {
        guard.0 = None;
    }
    answer.map(|answer| answer.map(unrelated))
}

/// Takes out the name of the task: whoever reads the result knows of none.
fn unrelated(mut result: Value) -> Value {
    if let Some(meta) = result.as_object_mut().and_then(|result| result.get_mut("_meta")).and_then(Value::as_object_mut)
        && meta.remove(RELATED_TASK).is_some()
        && meta.is_empty()
    {
        result.as_object_mut().map(|result: &mut Object| result.remove("_meta"));
    }
    result
}

/// Cancels a task unless its outcome came.
struct Cancel(Option<(Arc<dyn Link>, Value)>);

impl Drop for Cancel {
    fn drop(&mut self) {
        if let (Some((link, params)), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                // The server may be gone, and the task with it.
                let _ = link.ask(TaskMethod::Cancel.as_str(), params).await;
            });
        }
    }
}

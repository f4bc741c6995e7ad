//! What a server says of a task.

use std::time::Duration;

use portcullis_model::json::Value;

use super::TaskForm;

/// The member of `_meta` that names the task which a message belongs to (2025-11-25).
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Ids of servers are short; a longer one is none.
const LONGEST_ID: usize = 1024;

/// How a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It goes on.
    Working,
    /// It waits for answers of the client.
    InputRequired,
    /// It has ended, well or not.
    Over,
}

impl Status {
    /// Returns true where nothing more comes of it.
    pub(crate) fn is_over(self) -> bool {
        self == Self::Over
    }
}

/// What a server tells of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The server's own id.
    pub(crate) id: String,
    pub(crate) status: Status,
    /// For how long the server keeps it; nothing where it says no limit.
    pub(crate) ttl: Option<Duration>,
}

impl Told {
    /// Reads a task; nothing where it has no usable id. A status that does not exist counts as one that goes on.
    pub(crate) fn read(task: &Value) -> Option<Self> {
        let id = task.get("taskId").and_then(Value::as_str).filter(|id| (1..=LONGEST_ID).contains(&id.len()))?;
        let status = match task.get("status").and_then(Value::as_str) {
            Some("completed" | "failed" | "cancelled") => Status::Over,
            Some("input_required") => Status::InputRequired,
            Some(_) | None => Status::Working,
        };
        let ttl = ["ttlMs", "ttl"].into_iter().find_map(|key| task.get(key).and_then(Value::as_u64));
        Some(Self { id: id.to_owned(), status, ttl: ttl.map(Duration::from_millis) })
    }
}

/// Reads what a server answered to a call; nothing where that is no task.
pub(super) fn created(form: TaskForm, result: &Value) -> Option<Told> {
    match form {
        TaskForm::Extension if result.get("resultType").and_then(Value::as_str) == Some("task") => Told::read(result),
        TaskForm::Extension => None,
        TaskForm::Augmented { .. } => result.get("task").and_then(Told::read),
    }
}

/// Puts the id that the client knows in the place of the server's own, wherever the protocol has it.
pub(super) fn rename(document: &mut Value, own_id: &str, id: &str) {
    let replace = |place: Option<&mut Value>| {
        if let Some(place) = place.filter(|place| place.as_str() == Some(own_id)) {
            *place = Value::from(id);
        }
    };
    replace(document.pointer_mut("/taskId"));
    replace(document.pointer_mut("/task/taskId"));
    let related = document.as_object_mut().and_then(|document| document.get_mut("_meta"));
    let related = related.and_then(Value::as_object_mut).and_then(|meta| meta.get_mut(RELATED_TASK));
    replace(related.and_then(Value::as_object_mut).and_then(|related| related.get_mut("taskId")));
}

/// Returns the task that the parameters of a server's message belong to, by the server's own id.
pub(super) fn related(params: &Value) -> Option<&str> {
    params.get("_meta")?.get(RELATED_TASK)?.get("taskId")?.as_str()
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    #[test]
    fn the_id_of_the_server_is_replaced_where_the_protocol_has_it_and_nowhere_else() {
        let text = r#"{"taskId":"a","task":{"taskId":"a","x":"a"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"},"k":"a"},"content":[{"text":"a"}]}"#;
        let mut document = parse_str(text).unwrap();
        rename(&mut document, "a", "b");
        let expected = r#"{"taskId":"b","task":{"taskId":"b","x":"a"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"b"},"k":"a"},"content":[{"text":"a"}]}"#;
        assert_eq!(document.to_json(), expected);
        let mut other = parse_str(text).unwrap();
        rename(&mut other, "c", "b");
        assert_eq!(other.to_json(), text);
    }

    #[test]
    fn a_task_is_read_by_the_form_that_was_agreed_on() {
        let flat = parse_str(r#"{"resultType":"task","taskId":"a","status":"working","ttlMs":5}"#).unwrap();
        let told = Told { id: "a".to_owned(), status: Status::Working, ttl: Some(Duration::from_millis(5)) };
        assert_eq!(created(TaskForm::Extension, &flat), Some(told.clone()));
        let augmented = TaskForm::Augmented { cancel: false };
        assert_eq!(created(augmented, &flat), None);
        let wrapped = parse_str(r#"{"task":{"taskId":"a","status":"working","ttl":5}}"#).unwrap();
        assert_eq!(created(augmented, &wrapped), Some(told));
        assert_eq!(created(TaskForm::Extension, &wrapped), None);
        for unusable in [r#"{"taskId":7}"#, r#"{"taskId":""}"#, "{}", "[]"] {
            assert_eq!(Told::read(&parse_str(unusable).unwrap()), None, "{unusable}");
        }
    }
}

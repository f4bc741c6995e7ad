//! Questions of running gateways, and answers as those of a client.

use portcullis_gates::Scope;
use portcullis_model::json::Value;
use portcullis_model::object;

use super::Control;
use super::reading::{Arguments, Problem};
use crate::failure::one_line;
use crate::operator::{Connection, Gateways, shown_to_value};

/// Connects to all gateways that run.
async fn connect(control: &Control) -> Result<Vec<Connection>, Problem> {
    let gateways = Gateways::of(&control.home).map_err(|error| Problem::of("looking for gateways", &error))?;
    gateways.connect().await.map_err(|error| Problem::of("looking for gateways", &error))
}

/// Lists what is asked.
pub(super) async fn open(control: &Control) -> Result<Value, Problem> {
    let mut connections = connect(control).await?;
    let gateways = connections.len() as u64;
    let mut questions = Vec::new();
    for connection in &mut connections {
        match connection.list().await {
            Ok(listed) => questions.extend(listed),
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "a gateway does not answer"),
        }
    }
    questions.sort_by_key(|question| question.asked_at);
    let questions = questions.iter().map(|question| {
        let mut value = shown_to_value(question);
        if let Some(object) = value.as_object_mut() {
            object.insert("a_client_may_answer", question.lowest_approver == "client");
        }
        value
    });
    Ok(object! { "gateways" => gateways, "questions" => questions.collect::<Vec<_>>() }.into())
}

/// Answers one.
pub(super) async fn respond(control: &Control, arguments: &Arguments) -> Result<Value, Problem> {
    let id = arguments.needed("id")?;
    let (allow, scope) = match arguments.needed("decision")? {
        "allow-once" => (true, Scope::Once),
        "allow-session" => (true, Scope::Session),
        "deny" => (false, Scope::Once),
        _ => return Err(Problem::new("`decision` is `allow-once`, `allow-session` or `deny`")),
    };
    let client = control.client.get().map_or("", String::as_str);
    for mut connection in connect(control).await? {
        let request = object! {
            "do" => "answer-as-client", "id" => id, "allow" => allow, "for" => scope.as_str(), "client" => client,
        };
        let answer = match connection.request(request).await {
            Ok(answer) => Value::from(answer),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a gateway does not answer");
                continue;
            }
        };
        let text = |key: &str| one_line(answer.get(key).and_then(Value::as_str).unwrap_or_default());
        match answer.get("error").and_then(Value::as_str) {
            Some("unknown") => {}
            Some(_) => return Err(Problem::new(text("message"))),
            None => return Ok(object! { "id" => id, "done" => text("done") }.into()),
        }
    }
    Err(Problem::new(format!("no running gateway has a question `{}`", one_line(id))))
}

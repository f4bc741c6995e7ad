use std::future::ready;

use portcullis_gates::{PromptQuestion, Scope};
use portcullis_model::json::parse_str;
use portcullis_model::{GateName, PolicyName, Question, RuleId, Severity};

use super::*;

fn prompt(name: &str) -> Prompt {
    let question = Question {
        code: RuleId::parse("write-capable").unwrap(),
        text: "It may\u{202e} write.".to_owned(),
        severity: Severity::Medium,
        lowest_approver: ApproverClass::Client,
    };
    Prompt {
        gate: GateName::Call,
        server: "files".to_owned(),
        name: name.to_owned(),
        arguments: r#"{"path":"/tmp/x"}"#.to_owned(),
        definition: "unpinned".to_owned(),
        questions: vec![PromptQuestion { policy: PolicyName::parse("trust").unwrap(), question }],
    }
}

/// A client that answers the form as told.
struct Scripted(fn(&Value) -> Option<Value>);

impl Elicit for Scripted {
    fn elicit(&self, params: Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send + '_>> {
        Box::pin(ready((self.0)(&params)))
    }

    fn decoys(&self) -> Vec<String> {
        ["read_file", "list_directory", "move_file", "write_file"].map(str::to_owned).to_vec()
    }
}

async fn ask(answer: fn(&Value) -> Option<Value>) -> Reply {
    ClientApprover::new(Arc::new(Scripted(answer)), true).ask(prompt("write_file")).await
}

fn json(text: &str) -> Option<Value> {
    parse_str(text).ok()
}

#[tokio::test]
async fn an_acceptance_with_the_right_name_approves_once() {
    let reply = ask(|_| json(r#"{"action":"accept","content":{"decision":"approve once","name":"write_file"}}"#)).await;
    assert_eq!(reply, Reply::Approved(Scope::Once));
}

#[tokio::test]
async fn an_acceptance_for_the_session_holds_for_the_session() {
    let reply =
        ask(|_| json(r#"{"action":"accept","content":{"decision":"approve for this session","name":"write_file"}}"#))
            .await;
    assert_eq!(reply, Reply::Approved(Scope::Session));
}

#[tokio::test]
async fn an_acceptance_without_content_or_with_another_name_approves_nothing() {
    assert_eq!(ask(|_| json(r#"{"action":"accept"}"#)).await, Reply::Declined);
    assert_eq!(ask(|_| json(r#"{"action":"accept","content":{}}"#)).await, Reply::Declined);
    let other = ask(|_| json(r#"{"action":"accept","content":{"decision":"approve once","name":"read_file"}}"#)).await;
    assert_eq!(other, Reply::Declined);
    let always = ask(|_| json(r#"{"action":"accept","content":{"decision":"always","name":"write_file"}}"#)).await;
    assert_eq!(always, Reply::Declined);
}

#[tokio::test]
async fn a_client_that_fills_in_the_first_choice_of_everything_denies() {
    let reply = ask(|params| {
        let first = |name: &str| params.pointer(&format!("/requestedSchema/properties/{name}/enum/0")).cloned();
        let content = portcullis_model::object! { "decision" => first("decision")?, "name" => first("name")? };
        Some(portcullis_model::object! { "action" => "accept", "content" => content }.into())
    })
    .await;
    assert_eq!(reply, Reply::Declined);
}

#[tokio::test]
async fn a_decline_and_a_dismissal_are_no_approval_and_no_answer_is_nobody() {
    assert_eq!(ask(|_| json(r#"{"action":"decline"}"#)).await, Reply::Declined);
    assert_eq!(ask(|_| json(r#"{"action":"cancel"}"#)).await, Reply::Declined);
    assert_eq!(ask(|_| None).await, Reply::Unavailable);
}

#[test]
fn the_form_has_no_defaults_and_hides_the_name_among_others() {
    let form = Form::new(&prompt("write_file"), &["read_file".to_owned()]);
    let params = form.params();
    assert!(!params.to_json().contains("default"));
    let names = params.pointer("/requestedSchema/properties/name/enum").and_then(Value::as_array).unwrap();
    assert_eq!(names.len(), 4);
    assert_eq!(names.iter().filter(|name| name.as_str() == Some("write_file")).count(), 1);
}

#[test]
fn the_message_names_server_arguments_and_question_with_hidden_text_made_visible() {
    let params = Form::new(&prompt("write_file"), &[]).params();
    let message = params.get("message").and_then(Value::as_str).unwrap();
    for part in ["Server: files", "Name: write_file", r#"{"path":"/tmp/x"}"#, "trust (write-capable, medium)"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(message.contains("It may\\u{202e} write."));
}

#[test]
fn a_client_is_asked_only_where_it_shows_forms_and_does_not_answer_by_itself() {
    let approvals = Approvals { auto_answerers: vec!["robot".to_owned()], ..Approvals::default() };
    let capabilities = |text: &str| parse_str(text).unwrap();
    assert!(may_be_asked(&approvals, "editor", &capabilities(r#"{"elicitation":{}}"#)));
    assert!(may_be_asked(&approvals, "editor", &capabilities(r#"{"elicitation":{"form":{},"url":{}}}"#)));
    assert!(!may_be_asked(&approvals, "editor", &capabilities(r#"{"elicitation":{"url":{}}}"#)));
    assert!(!may_be_asked(&approvals, "editor", &capabilities(r#"{"roots":{}}"#)));
    assert!(!may_be_asked(&approvals, "Robot", &capabilities(r#"{"elicitation":{}}"#)));
    assert!(!may_be_asked(&approvals, "mcp-conformance-client", &capabilities(r#"{"elicitation":{}}"#)));
    let off = Approvals { client: false, ..approvals };
    assert!(!may_be_asked(&off, "editor", &capabilities(r#"{"elicitation":{}}"#)));
}

#[tokio::test]
async fn a_client_that_may_not_be_asked_is_nobody() {
    let approver = ClientApprover::new(Arc::new(Scripted(|_| json(r#"{"action":"accept"}"#))), false);
    assert_eq!(approver.class(), None);
    assert_eq!(approver.ask(prompt("write_file")).await, Reply::Unavailable);
}

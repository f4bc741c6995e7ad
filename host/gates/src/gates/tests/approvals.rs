//! Questions and their answers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use portcullis_model::{ApproverClass, Digest, Facts};
use tokio::time::timeout;

use std::sync::Mutex;

use super::*;
use crate::testing::{Always, Silent, ask};
use crate::{ApprovalEvent, Approver, Definitions, RecordedDecision, Reply, Scope};

fn asks(name: &str, code: &str, class: ApproverClass) -> ActivePolicy {
    policy(name, &[GateName::Call, GateName::Result, GateName::Config], says(ask(code, class)))
}

fn with(gates: &Gates, approver: &Arc<Always>) -> Context {
    gates.context(session("one"), Arc::clone(approver) as Arc<dyn Approver>, None)
}

fn approver(class: ApproverClass, reply: Reply) -> Arc<Always> {
    Arc::new(Always::new(class, reply))
}

fn once(class: ApproverClass) -> Arc<Always> {
    approver(class, Reply::Approved(Scope::Once))
}

#[tokio::test]
async fn all_questions_of_a_passage_are_one_prompt() {
    let (gates, journal) =
        gates(vec![asks("a", "first", ApproverClass::Client), asks("b", "second", ApproverClass::Client)]);
    let approver = once(ApproverClass::Client);
    gates.call(&with(&gates, &approver), call(r#"{"path":"x"}"#)).await.unwrap();
    let prompts = approver.prompts();
    assert_eq!(prompts.len(), 1);
    let codes: Vec<_> = prompts[0].questions.iter().map(|asked| asked.question.code.as_str().to_owned()).collect();
    assert_eq!(codes, ["first", "second"]);
    assert_eq!(prompts[0].arguments, r#"{"path":"x"}"#);
    assert_eq!(prompts[0].definition, "unpinned");
    assert_eq!(journal.records()[0].decision, RecordedDecision::Approved);
}

#[tokio::test]
async fn without_an_eligible_approver_the_call_is_refused_unasked() {
    let (gates, _) =
        gates(vec![asks("a", "first", ApproverClass::Client), asks("b", "second", ApproverClass::Operator)]);
    let approver = once(ApproverClass::Client);
    let refusal = gates.call(&with(&gates, &approver), call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::NoApprover);
    assert!(approver.prompts().is_empty());
    assert_eq!(gates.call(&context(&gates), call("{}")).await.unwrap_err().code, RefusalCode::NoApprover);
}

#[tokio::test]
async fn a_held_result_is_for_an_operator_whatever_the_question_says() {
    let (gates, _) = gates(vec![asks("a", "hold", ApproverClass::Client)]);
    let client = with(&gates, &once(ApproverClass::Client));
    assert_eq!(gates.result(&client, message("{}")).await.unwrap_err().code, RefusalCode::NoApprover);
    let operator = with(&gates, &once(ApproverClass::Operator));
    assert!(gates.result(&operator, message("{}")).await.is_ok());
}

#[tokio::test]
async fn a_declined_question_refuses() {
    let (gates, _) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let approver = approver(ApproverClass::Client, Reply::Declined);
    let refusal = gates.call(&with(&gates, &approver), call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Declined);
    assert_eq!(refusal.policy.unwrap().as_str(), "a");
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_longer_than_five_minutes() {
    let (gates, _) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let context = gates.context(session("one"), Arc::new(Silent(ApproverClass::Client)), None);
    let begun = tokio::time::Instant::now();
    let refusal = gates.call(&context, call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::ApprovalTimedOut);
    assert_eq!(begun.elapsed(), Duration::from_mins(5));
}

#[tokio::test(start_paused = true)]
async fn thirty_two_questions_of_a_principal_wait_and_dropping_a_call_withdraws_its_own() {
    let (gates, _) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let context = gates.context(session("one"), Arc::new(Silent(ApproverClass::Client)), None);
    let waiting = || gates.waiting_questions(&context.session.principal);
    let mut calls: Vec<_> = (0..32).map(|_| Box::pin(gates.call(&context, call("{}")))).collect();
    for one in &mut calls {
        assert!(timeout(Duration::ZERO, one).await.is_err());
    }
    assert_eq!(waiting(), 32);
    assert_eq!(gates.call(&context, call("{}")).await.unwrap_err().code, RefusalCode::TooManyQuestions);
    calls.pop();
    assert_eq!(waiting(), 31);
    calls.clear();
    assert_eq!(waiting(), 0);
}

#[tokio::test]
async fn an_approval_for_the_session_holds_for_that_definition_only() {
    let (gates, _) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let approver = approver(ApproverClass::Client, Reply::Approved(Scope::Session));
    let context = with(&gates, &approver);
    let of = |definition: &[u8]| Call { definition: Some(Digest::of(definition)), ..call("{}") };
    gates.call(&context, of(b"one")).await.unwrap();
    gates.call(&context, of(b"one")).await.unwrap();
    assert_eq!(approver.prompts().len(), 1);
    gates.call(&context, of(b"two")).await.unwrap();
    gates.call(&context, Call { name: "other".to_owned(), ..of(b"one") }).await.unwrap();
    assert_eq!(approver.prompts().len(), 3);
    let other = gates.context(session("two"), Arc::clone(&approver) as Arc<dyn Approver>, None);
    gates.call(&other, of(b"one")).await.unwrap();
    assert_eq!(approver.prompts().len(), 4);
}

#[tokio::test]
async fn an_approval_of_one_policys_question_answers_no_other_policy() {
    let (gates, _) = gates(vec![asks("a", "same", ApproverClass::Client)]);
    let approver = approver(ApproverClass::Client, Reply::Approved(Scope::Session));
    let context = with(&gates, &approver);
    gates.call(&context, call("{}")).await.unwrap();
    gates.publish(PolicySet::new(vec![
        Arc::new(asks("a", "same", ApproverClass::Client)),
        Arc::new(asks("b", "same", ApproverClass::Client)),
    ]));
    let context = Context { set: gates.set(), ..context };
    gates.call(&context, call("{}")).await.unwrap();
    let prompts = approver.prompts();
    let second: Vec<_> = prompts[1].questions.iter().map(|asked| asked.policy.as_str().to_owned()).collect();
    assert_eq!(second, ["b"]);
}

/// Publishes a set while it is asked.
struct Publishing {
    gates: Arc<Gates>,
    next: Mutex<Vec<Arc<ActivePolicy>>>,
    asked: AtomicU32,
}

impl Approver for Publishing {
    fn class(&self) -> Option<ApproverClass> {
        Some(ApproverClass::Client)
    }

    fn ask(&self, _prompt: crate::Prompt) -> std::pin::Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let next = std::mem::take(&mut *self.next.lock().unwrap());
        if !next.is_empty() {
            self.gates.publish(PolicySet::new(next));
        }
        Box::pin(std::future::ready(Reply::Approved(Scope::Once)))
    }
}

async fn judged_after_publishing(next: Vec<ActivePolicy>) -> (Result<u64, RefusalCode>, u32) {
    let (gates, _) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let gates = Arc::new(gates);
    let next = Mutex::new(next.into_iter().map(Arc::new).collect());
    let approver = Arc::new(Publishing { gates: Arc::clone(&gates), next, asked: AtomicU32::new(0) });
    let context = gates.context(session("one"), Arc::clone(&approver) as Arc<dyn Approver>, None);
    let result = gates.call(&context, call("{}")).await;
    let outcome = result.map(|cleared| cleared.receipt().generation).map_err(|refusal| refusal.code);
    (outcome, approver.asked.load(Ordering::Relaxed))
}

#[tokio::test]
async fn an_approved_call_is_judged_again_by_the_current_set() {
    let denies = policy("new", &[GateName::Call], says(deny("no")));
    let (outcome, _) = judged_after_publishing(vec![denies]).await;
    assert_eq!(outcome, Err(RefusalCode::Denied("no".to_owned())));
    let same = asks("a", "first", ApproverClass::Client);
    let (outcome, asked) = judged_after_publishing(vec![same]).await;
    assert_eq!((outcome, asked), (Ok(1), 1));
}

#[tokio::test]
async fn a_question_that_is_new_after_an_approval_is_asked_as_well() {
    let policies = vec![asks("a", "first", ApproverClass::Client), asks("b", "second", ApproverClass::Client)];
    let (outcome, asked) = judged_after_publishing(policies).await;
    assert_eq!((outcome, asked), (Ok(1), 2));
    let raised = vec![asks("a", "first", ApproverClass::Operator)];
    let (outcome, _) = judged_after_publishing(raised).await;
    assert_eq!(outcome, Err(RefusalCode::NoApprover), "an answer of a client does not count for an operator's");
}

#[tokio::test]
async fn questions_that_never_end_are_refused() {
    let count = AtomicU32::new(0);
    let endless = policy(
        "endless",
        &[GateName::Call],
        Judge(move |_: &Facts, subject: &Subject| {
            let code = format!("question-{}", count.fetch_add(1, Ordering::Relaxed));
            Ok(answer(subject, &ask(&code, ApproverClass::Client)))
        }),
    );
    let (gates, _) = gates(vec![endless]);
    let approver = once(ApproverClass::Client);
    let refusal = gates.call(&with(&gates, &approver), call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::NotConverging);
    assert_eq!(approver.prompts().len(), 3);
}

#[tokio::test]
async fn a_definition_that_changed_meanwhile_voids_the_answer() {
    struct Changed;
    impl Definitions for Changed {
        fn current(&self, _server: &ServerName, _kind: CallKind, _name: &str) -> Option<Digest> {
            Some(Digest::of(b"another"))
        }
    }
    let (gates, _) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let approver = approver(ApproverClass::Client, Reply::Approved(Scope::Once));
    let context = with(&gates, &approver).with_definitions(Arc::new(Changed));
    let asked = Call { definition: Some(Digest::of(b"one")), ..call("{}") };
    assert_eq!(gates.call(&context, asked).await.unwrap_err().code, RefusalCode::DefinitionChanged);
}

#[tokio::test]
async fn foreign_text_in_a_prompt_is_escaped_and_bounded() {
    let mut verdict = ask("first", ApproverClass::Client);
    if let portcullis_model::Decision::Ask(questions) = &mut verdict.decision {
        questions[0].text = format!("ok?\u{202e}\n{}", "x".repeat(5000));
    }
    let (gates, _) = gates(vec![policy("a", &[GateName::Call], says(verdict))]);
    let approver = once(ApproverClass::Client);
    let hostile = Call { name: "t\u{1b}[2J".to_owned(), ..call(&format!(r#"{{"a\u200b":"{}"}}"#, "y".repeat(9000))) };
    gates.call(&with(&gates, &approver), hostile).await.unwrap();
    let prompt = approver.prompts().remove(0);
    assert_eq!(prompt.name, "t\\u{1b}[2J");
    assert!(prompt.questions[0].question.text.starts_with("ok?\\u{202e}\\nxxx"));
    assert!(prompt.questions[0].question.text.len() < 1100);
    assert!(prompt.arguments.starts_with(r#"{"a\u{200b}":"yyy"#));
    assert!(prompt.arguments.len() < 4300 && prompt.arguments.contains("sha256"));
}

fn granting(class: ApproverClass, scope: Scope) -> (Gates, Arc<Kept>, Arc<Always>, Context) {
    let (gates, journal) = gates(vec![asks("a", "first", ApproverClass::Client)]);
    let approver = approver(class, Reply::Approved(scope));
    let context = with(&gates, &approver);
    (gates, journal, approver, context)
}

#[tokio::test]
async fn once_session_and_always_differ() {
    for (scope, same_session, other_session) in [(Scope::Once, 2, 3), (Scope::Session, 1, 2), (Scope::Always, 1, 1)] {
        let (gates, _, approver, context) = granting(ApproverClass::Operator, scope);
        gates.call(&context, call("{}")).await.unwrap();
        gates.call(&context, call("{}")).await.unwrap();
        assert_eq!(approver.prompts().len(), same_session, "{scope:?}");
        let other = gates.context(session("two"), Arc::clone(&approver) as Arc<dyn Approver>, None);
        gates.call(&other, call("{}")).await.unwrap();
        assert_eq!(approver.prompts().len(), other_session, "{scope:?}");
    }
}

#[tokio::test]
async fn always_from_a_client_is_once() {
    let (gates, journal, approver, context) = granting(ApproverClass::Client, Scope::Always);
    gates.call(&context, call("{}")).await.unwrap();
    gates.call(&context, call("{}")).await.unwrap();
    assert_eq!(approver.prompts().len(), 2);
    let record = journal.records()[0].approvals[0].clone();
    assert_eq!((record.event, record.class), (ApprovalEvent::Approved(Scope::Once), ApproverClass::Client));
    assert_eq!(record.grant, None);
}

#[tokio::test]
async fn a_grant_never_answers_a_denial() {
    let (gates, _, _, context) = granting(ApproverClass::Operator, Scope::Always);
    gates.call(&context, call("{}")).await.unwrap();
    gates.publish(PolicySet::new(vec![Arc::new(policy("a", &[GateName::Call], says(deny("first"))))]));
    let context = Context { set: gates.set(), ..context };
    let refusal = gates.call(&context, call("{}")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Denied("first".to_owned()));
}

#[tokio::test]
async fn a_revoked_grant_is_asked_about_again_and_each_step_leaves_a_record() {
    let (gates, journal, approver, context) = granting(ApproverClass::Operator, Scope::Always);
    gates.call(&context, call("{}")).await.unwrap();
    gates.call(&context, call("{}")).await.unwrap();
    let events: Vec<_> = journal.records().iter().map(|record| record.approvals[0].event).collect();
    assert_eq!(events, [ApprovalEvent::Approved(Scope::Always), ApprovalEvent::Granted]);
    let id = journal.records()[1].approvals[0].grant.clone().unwrap();
    assert_eq!(gates.grants.remove(&[id]).unwrap().len(), 1);
    gates.call(&context, call("{}")).await.unwrap();
    assert_eq!(approver.prompts().len(), 2);
}

#[tokio::test]
async fn an_approval_for_a_session_ends_with_it_even_where_the_id_comes_back() {
    let (gates, _, approver, _) = granting(ApproverClass::Client, Scope::Session);
    let open = || {
        let id = portcullis_model::SessionId::parse("same").unwrap();
        let principal = portcullis_model::Principal::parse("tester").unwrap();
        let era = portcullis_model::Era::Stateless;
        gates.sessions().open(&id, &principal, &portcullis_model::ClientFacts::default(), era).unwrap()
    };
    let of = |session| gates.context(session, Arc::clone(&approver) as Arc<dyn Approver>, None);
    gates.call(&of(open()), call("{}")).await.unwrap();
    gates.call(&of(open()), call("{}")).await.unwrap();
    assert_eq!(approver.prompts().len(), 1);
    assert!(gates.close_session(&portcullis_model::SessionId::parse("same").unwrap()));
    gates.call(&of(open()), call("{}")).await.unwrap();
    assert_eq!(approver.prompts().len(), 2);
}

#[tokio::test]
async fn an_approval_of_a_server_is_for_how_it_is_reached_and_not_for_the_values_of_its_secrets() {
    let (gates, _) = gates(vec![asks("a", "unusual", ApproverClass::Client)]);
    let operator = approver(ApproverClass::Operator, Reply::Approved(Scope::Always));
    let context = with(&gates, &operator);
    let starting = |command: &str, token: &str| {
        let mut launching = launching(command);
        let mut entry = (*launching.entry).clone();
        if let portcullis_model::Launch::Stdio { environment, .. } = &mut entry.launch {
            environment.push(("TOKEN".to_owned(), portcullis_model::Secret::new(token)));
        }
        entry.document = Value::from(format!("{command} {token}"));
        launching.entry = Arc::new(entry);
        launching
    };
    gates.config(&context, starting("npx", "one")).await.unwrap();
    gates.config(&context, starting("npx", "two")).await.unwrap();
    assert_eq!(operator.prompts().len(), 1, "a new token is no new server");
    gates.config(&context, starting("sh", "two")).await.unwrap();
    assert_eq!(operator.prompts().len(), 2);
}

fn launching(command: &str) -> Launching {
    let launch = portcullis_model::Launch::Stdio {
        command: command.to_owned(),
        arguments: Vec::new(),
        working_directory: None,
        environment: Vec::new(),
    };
    let origin = portcullis_model::Origin::ConfigFile;
    let entry = portcullis_model::ServerEntry { name: server(), launch, origin, document: Value::from(command) };
    Launching { entry: Arc::new(entry), occasion: portcullis_model::Occasion::Start }
}

#[tokio::test]
async fn a_grant_is_void_once_another_command_runs_under_the_name_of_the_server() {
    let (gates, _) = gates(vec![policy("a", &[GateName::Call], says(ask("first", ApproverClass::Client)))]);
    let approver = approver(ApproverClass::Operator, Reply::Approved(Scope::Always));
    let context = with(&gates, &approver);
    for (command, prompts) in [("npx", 1), ("npx", 1), ("sh", 2)] {
        gates.config(&context, launching(command)).await.unwrap();
        gates.call(&context, call("{}")).await.unwrap();
        assert_eq!(approver.prompts().len(), prompts, "{command}");
    }
}

//! Questions that operators answer.

use std::time::Duration;

use portcullis_model::{ApproverClass, ItemKind, Launch, Occasion, Origin, ServerEntry};
use proptest::prelude::*;
use tokio::time::{advance, timeout};

use super::*;
use crate::testing::{Always, ask};
use crate::{
    AnswerEffect, AnswerError, ApprovalEvent, ApprovalLimits, Constraint, Inbox, OperatorAnswer, RecordedDecision,
    Reply, Scope,
};

fn asking(gate: GateName, class: ApproverClass) -> (Arc<Gates>, Arc<Kept>, Context) {
    let (gates, journal) = gates(vec![policy("a", &[gate], says(ask("first", class)))]);
    let gates = Arc::new(gates);
    gates.inbox().open();
    let context = context(&gates);
    (gates, journal, context)
}

fn yes(scope: Option<Scope>) -> OperatorAnswer {
    OperatorAnswer { allow: true, scope, constraint: Constraint::default(), surface: "terminal".to_owned() }
}

fn no() -> OperatorAnswer {
    OperatorAnswer { allow: false, ..yes(None) }
}

/// Returns the name of the only question.
fn only(inbox: &Inbox) -> String {
    let pending = inbox.pending();
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending[0].id.clone()
}

/// Starts a call and lets it get to its question.
async fn started(
    gates: &Arc<Gates>,
    context: &Context,
    arguments: &str,
) -> tokio::task::JoinHandle<Option<RefusalCode>> {
    let (gates, context, call) = (Arc::clone(gates), context.clone(), call(arguments));
    let before = gates.inbox().pending().len();
    let inbox = gates.inbox().clone();
    let task = tokio::spawn(async move { gates.call(&context, call).await.err().map(|refusal| refusal.code) });
    while inbox.pending().len() == before && !task.is_finished() {
        tokio::task::yield_now().await;
    }
    task
}

fn handle(code: RefusalCode) -> String {
    let RefusalCode::ApprovalPending(handle) = code else { panic!("not pending but {code:?}") };
    handle
}

#[tokio::test]
async fn without_anybody_there_a_call_is_pending_and_sending_it_again_approves_nothing() {
    let (gates, _, context) = asking(GateName::Call, ApproverClass::Client);
    let refusal = gates.call(&context, call(r#"{"path":"x"}"#)).await.unwrap_err();
    let text = refusal.model_text();
    let id = handle(refusal.code);
    assert!(text.contains("approval-pending") && text.contains(&format!("portcullis approvals show {id}")), "{text}");
    for _ in 0..3 {
        let again = gates.call(&context, call(r#"{"path":"x"}"#)).await.unwrap_err();
        assert_eq!(handle(again.code), id, "the same call is the same question");
    }
    let pending = gates.inbox().find(&id).unwrap();
    assert_eq!((pending.kind.as_str(), pending.waits, pending.answered), ("tool", false, None));
    assert_eq!(pending.prompt.arguments, r#"{"path":"x"}"#);
    assert_eq!(gates.waiting_questions(&context.session.principal), 1);
}

#[tokio::test]
async fn an_answer_to_a_pending_call_is_for_that_call_and_once() {
    let (gates, journal, context) = asking(GateName::Call, ApproverClass::Operator);
    let id = handle(gates.call(&context, call(r#"{"path":"x"}"#)).await.unwrap_err().code);
    assert_eq!(gates.answer(&id, yes(None)).await.unwrap(), AnswerEffect::Kept);
    assert!(matches!(gates.answer(&id, yes(None)).await, Err(AnswerError::Late)));
    let other = handle(gates.call(&context, call(r#"{"path":"y"}"#)).await.unwrap_err().code);
    assert_ne!(other, id);
    let two = gates.context(session("two"), Arc::new(NoApprover), None);
    assert_ne!(handle(gates.call(&two, call(r#"{"path":"x"}"#)).await.unwrap_err().code), id, "nor of that session");
    gates.call(&context, call(r#"{"path":"x"}"#)).await.unwrap();
    assert_ne!(handle(gates.call(&context, call(r#"{"path":"x"}"#)).await.unwrap_err().code), id);
    let approved: Vec<_> =
        journal.records().into_iter().filter(|record| record.decision == RecordedDecision::Approved).collect();
    assert_eq!(approved.len(), 2, "the answer, and the passage that took it up");
    assert!(approved.iter().all(|record| record.approvals[0].event == ApprovalEvent::Approved(Scope::Once)));
    assert_eq!((approved[0].approvals[0].class, approved[0].server.as_str()), (ApproverClass::Operator, "server"));
}

#[tokio::test]
async fn a_refusal_of_a_pending_call_is_found_by_the_same_call_and_wins_over_an_approval_before_it() {
    let (gates, _, context) = asking(GateName::Call, ApproverClass::Client);
    let id = handle(gates.call(&context, call("{}")).await.unwrap_err().code);
    gates.answer(&id, yes(None)).await.unwrap();
    gates.answer(&id, no()).await.unwrap();
    assert!(matches!(gates.answer(&id, yes(None)).await, Err(AnswerError::Late)));
    for _ in 0..2 {
        assert_eq!(gates.call(&context, call("{}")).await.unwrap_err().code, RefusalCode::Declined);
    }
}

#[tokio::test]
async fn a_call_waits_for_an_operator_who_watches() {
    let (gates, _, context) = asking(GateName::Call, ApproverClass::Operator);
    let _watching = gates.inbox().attach();
    for (answer, expected) in [(yes(None), None), (no(), Some(RefusalCode::Declined))] {
        let waiting = started(&gates, &context, "{}").await;
        let id = only(gates.inbox());
        assert!(gates.inbox().find(&id).unwrap().waits);
        assert_eq!(gates.answer(&id, answer).await.unwrap(), AnswerEffect::Released);
        assert_eq!(waiting.await.unwrap(), expected);
        assert!(gates.inbox().pending().is_empty());
    }
}

#[tokio::test]
async fn policies_are_told_of_an_operator_who_watches_and_of_no_other() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let curious = Judge(move |facts: &portcullis_model::Facts, subject: &Subject| {
        kept.lock().unwrap().push(facts.approver);
        Ok(answer(subject, &Verdict::allow()))
    });
    let (gates, _) = gates(vec![policy("a", &[GateName::Call], curious)]);
    gates.inbox().open();
    gates.call(&context(&gates), call("{}")).await.unwrap();
    let watching = gates.inbox().attach();
    gates.call(&context(&gates), call("{}")).await.unwrap();
    drop(watching);
    gates.call(&context(&gates), call("{}")).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [None, Some(ApproverClass::Operator), None]);
}

#[tokio::test]
async fn a_refusal_before_the_release_wins_over_an_approval() {
    let (gates, journal, context) = asking(GateName::Call, ApproverClass::Operator);
    let _watching = gates.inbox().attach();
    let waiting = started(&gates, &context, "{}").await;
    let id = only(gates.inbox());
    // The call runs on this very thread, so nothing is released between the two.
    gates.answer(&id, yes(Some(Scope::Always))).await.unwrap();
    gates.answer(&id, no()).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Some(RefusalCode::Declined));
    let record = journal.records().pop().unwrap();
    assert_eq!(record.approvals[0].event, ApprovalEvent::Declined);
    let waiting = started(&gates, &context, "{}").await;
    assert_eq!(gates.inbox().pending().len(), 1, "nothing was kept of the approval");
    waiting.abort();
}

proptest! {
    /// Whatever answers come in which order before the release, the call goes on only if the first is a yes and none a no.
    #[test]
    fn answers_in_any_order_approve_only_without_a_refusal(answers in proptest::collection::vec(any::<bool>(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            let (gates, _, context) = asking(GateName::Call, ApproverClass::Operator);
            let _watching = gates.inbox().attach();
            let waiting = started(&gates, &context, "{}").await;
            let id = only(gates.inbox());
            for allow in &answers {
                let _late = gates.answer(&id, if *allow { yes(None) } else { no() }).await;
            }
            waiting.await.unwrap()
        });
        prop_assert_eq!(outcome.is_none(), answers.iter().all(|allow| *allow));
    }
}

#[tokio::test]
async fn the_first_of_client_and_operator_counts() {
    let (gates, _, _) = asking(GateName::Call, ApproverClass::Client);
    let _watching = gates.inbox().attach();
    let client = Arc::new(Always::new(ApproverClass::Client, Reply::Declined));
    let context = gates.context(session("one"), client, None);
    assert_eq!(gates.call(&context, call("{}")).await.unwrap_err().code, RefusalCode::Declined);
    let silent = Arc::new(crate::testing::Silent(ApproverClass::Client));
    let context = gates.context(session("one"), silent, None);
    let waiting = started(&gates, &context, "{}").await;
    gates.answer(&only(gates.inbox()), yes(None)).await.unwrap();
    assert_eq!(waiting.await.unwrap(), None);
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_after_all_leaves_the_question_pending() {
    let (gates, _, _) = asking(GateName::Call, ApproverClass::Client);
    let client = Arc::new(Always::new(ApproverClass::Client, Reply::Unavailable));
    let context = gates.context(session("one"), client, None);
    let id = handle(gates.call(&context, call("{}")).await.unwrap_err().code);
    gates.answer(&id, yes(None)).await.unwrap();
    gates.call(&context, call("{}")).await.unwrap();
    gates.inbox().close();
    assert_eq!(gates.call(&context, call("{}")).await.unwrap_err().code, RefusalCode::NoApprover);
}

#[tokio::test]
async fn for_session_and_always_leave_grants_and_a_constraint_must_hold_for_what_is_asked() {
    let (gates, journal, context) = asking(GateName::Call, ApproverClass::Operator);
    let id = handle(gates.call(&context, call(r#"{"path":"/tmp/x"}"#)).await.unwrap_err().code);
    let below = |path: &str| Constraint::parse([format!("/path^={path}").as_str()]).unwrap();
    let constrained = |path, scope| OperatorAnswer { constraint: below(path), ..yes(scope) };
    let refused = gates.answer(&id, constrained("/etc", Some(Scope::Always))).await;
    assert!(matches!(refused, Err(AnswerError::Constraint)));
    assert!(matches!(gates.answer(&id, constrained("/tmp", None)).await, Err(AnswerError::NotRemembered)));
    gates.answer(&id, constrained("/tmp", Some(Scope::Always))).await.unwrap();
    gates.call(&context, call(r#"{"path":"/tmp/x"}"#)).await.unwrap();
    let other = gates.context(session("two"), Arc::new(NoApprover), None);
    gates.call(&other, call(r#"{"path":"/tmp/a/b"}"#)).await.unwrap();
    handle(gates.call(&other, call(r#"{"path":"/tmp/../etc"}"#)).await.unwrap_err().code);
    let used = journal.records().into_iter().rfind(|record| record.decision == RecordedDecision::Approved).unwrap();
    assert_eq!(used.approvals[0].event, ApprovalEvent::Granted);
    let id = used.approvals[0].grant.clone().unwrap();
    gates.grants.remove(&[id]).unwrap();
    handle(gates.call(&other, call(r#"{"path":"/tmp/a/b"}"#)).await.unwrap_err().code);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_as_long_as_the_limits_say_and_a_pending_one_for_half_an_hour() {
    let (gates, _) = gates(vec![policy("a", &[GateName::Call], says(ask("first", ApproverClass::Client)))]);
    let wait = Duration::from_secs(40);
    let gates = Arc::new(gates.with_approval_limits(ApprovalLimits { wait, waiting: 1, ..ApprovalLimits::default() }));
    gates.inbox().open();
    let context = context(&gates);
    let watching = gates.inbox().attach();
    let begun = tokio::time::Instant::now();
    let waiting = started(&gates, &context, "{}").await;
    assert_eq!(gates.call(&context, call(r#"{"a":1}"#)).await.unwrap_err().code, RefusalCode::TooManyQuestions);
    assert_eq!(waiting.await.unwrap(), Some(RefusalCode::ApprovalTimedOut));
    assert_eq!(begun.elapsed(), wait);
    drop(watching);
    let id = handle(gates.call(&context, call("{}")).await.unwrap_err().code);
    advance(Duration::from_mins(29)).await;
    assert_eq!(handle(gates.call(&context, call("{}")).await.unwrap_err().code), id);
    advance(Duration::from_mins(31)).await;
    assert!(matches!(gates.answer(&id, yes(None)).await, Err(AnswerError::Unknown(_))));
    let id = handle(gates.call(&context, call("{}")).await.unwrap_err().code);
    gates.answer(&id, yes(None)).await.unwrap();
    advance(wait).await;
    assert_ne!(
        handle(gates.call(&context, call("{}")).await.unwrap_err().code),
        id,
        "an approval is not kept for ever"
    );
}

#[tokio::test]
async fn a_call_that_is_cancelled_takes_its_question_with_it() {
    let (gates, _, context) = asking(GateName::Call, ApproverClass::Operator);
    let _watching = gates.inbox().attach();
    let mut waiting = Box::pin(gates.call(&context, call("{}")));
    assert!(timeout(Duration::ZERO, &mut waiting).await.is_err());
    let id = only(gates.inbox());
    drop(waiting);
    assert!(gates.inbox().pending().is_empty());
    assert!(matches!(gates.answer(&id, yes(None)).await, Err(AnswerError::Unknown(_))));
}

#[tokio::test]
async fn a_held_result_waits_even_where_nobody_watches_and_progress_does_not() {
    let (gates, _, context) = asking(GateName::Result, ApproverClass::Client);
    for (answer, expected) in [(yes(None), None), (no(), Some(RefusalCode::Declined))] {
        let (own, context) = (Arc::clone(&gates), context.clone());
        let waiting = tokio::spawn(async move {
            own.result(&context, message(r#"{"content":[]}"#)).await.err().map(|refusal| refusal.code)
        });
        while gates.inbox().pending().is_empty() {
            tokio::task::yield_now().await;
        }
        let id = only(gates.inbox());
        let pending = gates.inbox().find(&id).unwrap();
        assert_eq!((pending.kind.as_str(), pending.lowest_approver), ("result", ApproverClass::Operator));
        gates.answer(&id, answer).await.unwrap();
        assert_eq!(waiting.await.unwrap(), expected);
    }
    let progress = ServerMessage { kind: ResultKind::Progress, ..message("{}") };
    assert_eq!(gates.result(&context, progress).await.unwrap_err().code, RefusalCode::NoApprover);
}

fn item(description: &str) -> Vec<Listed> {
    let document = json(&format!(r#"{{"name":"read","description":"{description}","inputSchema":{{}}}}"#));
    let item = ListedItem { server: server(), kind: ItemKind::Tool, name: "read".to_owned(), document };
    vec![Listed { item, pinned: None }]
}

async fn scan(gates: &Gates, context: &Context, description: &str) -> Option<RefusalCode> {
    let scanned = gates.listing(context, item(description), Arc::default()).await.remove(0);
    scanned.err().map(|withheld| withheld.refusal.code)
}

#[tokio::test]
async fn a_quarantined_tool_stands_in_the_inbox_and_is_published_as_it_was_once_approved() {
    let (gates, _, context) = asking(GateName::Listing, ApproverClass::Client);
    let mut answers = gates.answers();
    let quarantined = Some(RefusalCode::Quarantined("first".to_owned()));
    assert_eq!(scan(&gates, &context, "one").await, quarantined);
    assert_eq!(scan(&gates, &context, "one").await, quarantined);
    let id = only(gates.inbox());
    let pending = gates.inbox().find(&id).unwrap();
    assert_eq!((pending.kind.as_str(), pending.left, pending.usual), ("tool", None, Scope::Always));
    assert!(pending.prompt.arguments.contains(r#""description":"one""#));
    gates.answer(&id, yes(None)).await.unwrap();
    assert_eq!(answers.try_recv().unwrap(), "server");
    assert_eq!(scan(&gates, &context, "one").await, None);
    assert!(gates.inbox().pending().is_empty());
    assert_eq!(scan(&gates, &context, "two").await, quarantined, "another definition is another question");
    assert_ne!(only(gates.inbox()), id);
    assert_eq!(scan(&gates, &context, "three").await, quarantined);
    assert!(gates.inbox().pending()[0].prompt.arguments.contains("three"), "what it was before is not asked any more");
    assert_eq!(scan(&gates, &context, "one").await, None);
    assert!(gates.inbox().pending().is_empty());
}

#[tokio::test]
async fn a_quarantined_tool_that_is_refused_is_not_asked_about_again() {
    let (gates, _, context) = asking(GateName::Listing, ApproverClass::Operator);
    scan(&gates, &context, "one").await;
    gates.answer(&only(gates.inbox()), no()).await.unwrap();
    assert_eq!(scan(&gates, &context, "one").await, Some(RefusalCode::Declined));
    assert!(gates.inbox().pending().is_empty());
    let later = gates.context(session("later"), Arc::new(NoApprover), None);
    assert_eq!(scan(&gates, &later, "one").await, Some(RefusalCode::Declined), "it is remembered");
}

#[tokio::test]
async fn once_publishes_a_tool_until_it_is_judged_again() {
    let (gates, _, context) = asking(GateName::Listing, ApproverClass::Operator);
    scan(&gates, &context, "one").await;
    gates.answer(&only(gates.inbox()), yes(Some(Scope::Once))).await.unwrap();
    assert_eq!(scan(&gates, &context, "one").await, None);
    assert!(scan(&gates, &context, "one").await.is_some());
}

#[tokio::test]
async fn a_server_that_a_policy_asks_about_stands_in_the_inbox_until_it_is_confirmed() {
    let (gates, _, context) = asking(GateName::Config, ApproverClass::Client);
    let starting = |command: &str| {
        let launch = Launch::Stdio {
            command: command.to_owned(),
            arguments: Vec::new(),
            working_directory: None,
            environment: vec![("TOKEN".to_owned(), portcullis_model::Secret::new("hidden"))],
        };
        let entry = ServerEntry { name: server(), launch, origin: Origin::ConfigFile, document: Value::from(command) };
        Launching { entry: Arc::new(entry), occasion: Occasion::Start }
    };
    let id = handle(gates.config(&context, starting("npx")).await.unwrap_err().code);
    let pending = gates.inbox().find(&id).unwrap();
    assert_eq!(pending.prompt.arguments, r#"{"args":[],"command":"npx","env":["TOKEN"]}"#);
    gates.answer(&id, yes(None)).await.unwrap();
    gates.config(&context, starting("npx")).await.unwrap();
    let id = handle(gates.config(&context, starting("sh")).await.unwrap_err().code);
    gates.answer(&id, no()).await.unwrap();
    assert_eq!(gates.config(&context, starting("sh")).await.unwrap_err().code, RefusalCode::Declined);
    gates.config(&context, starting("npx")).await.unwrap();
}

#[tokio::test]
async fn standing_questions_do_not_take_the_places_of_calls() {
    let (gates, _, context) = asking(GateName::Listing, ApproverClass::Operator);
    scan(&gates, &context, "one").await;
    assert_eq!(gates.waiting_questions(&context.session.principal), 0);
}

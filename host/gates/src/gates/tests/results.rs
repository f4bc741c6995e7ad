//! Rounds of edits at the result and request gates.

use portcullis_model::{Edit, Facts, Replacement, RequestKind, Sampling, Segment, Span};

use super::*;
use crate::RecordedDecision;
use crate::testing::rule_id;

fn segments(subject: &Subject) -> &[Segment] {
    match subject {
        Subject::Result(subject) => &subject.segments,
        Subject::Request(subject) => &subject.segments,
        Subject::Config(_) | Subject::Environment(_) | Subject::Listing(_) | Subject::Call(_) => panic!("another gate"),
    }
}

/// Blanks every occurrence of a word.
fn blanks(word: &'static str, replacement: Replacement) -> impl Evaluate {
    Judge(move |_: &Facts, subject: &Subject| {
        let mut edits = Vec::new();
        for (index, segment) in segments(subject).iter().enumerate() {
            for (start, _) in segment.text.match_indices(word) {
                let span = Span {
                    segment: u32::try_from(index).unwrap(),
                    start: u32::try_from(start).unwrap(),
                    end: u32::try_from(start + word.len()).unwrap(),
                };
                edits.push(Edit::Blank { rule: rule_id("rule"), span, replacement });
            }
        }
        Ok(answer(subject, &Verdict { edits, ..Verdict::allow() }))
    })
}

fn on_result(name: &str, evaluator: impl Evaluate + 'static) -> ActivePolicy {
    policy(name, &[GateName::Result, GateName::Request], evaluator)
}

fn text(text: &str) -> ServerMessage {
    let mut message = message(r#"{"content":[{"type":"text","text":""}],"vendor":1.50}"#);
    *message.document.pointer_mut("/content/0/text").unwrap() = Value::from(text);
    message
}

fn text_of(cleared: &Cleared<ServerMessage>) -> &str {
    cleared.get().document.pointer("/content/0/text").unwrap().as_str().unwrap()
}

#[tokio::test]
async fn the_cleared_value_is_the_edited_one_and_the_rest_is_untouched() {
    let (gates, journal) = gates(vec![on_result("p", blanks("secret", Replacement::Marker))]);
    let cleared = gates.result(&context(&gates), text("a secret b")).await.unwrap();
    assert_eq!(text_of(&cleared), "a [removed by portcullis: rule] b");
    assert_eq!(cleared.get().document.get("vendor").unwrap().to_json(), "1.50");
    assert!(cleared.receipt().edited);
    assert_eq!(cleared.receipt().rounds, 2);
    let record = &journal.records()[0];
    assert_eq!(record.decision, RecordedDecision::Edited);
    assert_eq!(record.policies.iter().map(|policy| (policy.round, policy.edits)).collect::<Vec<_>>(), [(1, 1), (2, 0)]);
    assert!(!format!("{record:?}").contains("secret"), "a record holds no payload");
}

#[tokio::test]
async fn a_word_that_an_edit_completes_is_seen_in_the_next_round() {
    let (gates, _) = gates(vec![
        on_result("hidden", blanks("\u{200b}", Replacement::Nothing)),
        on_result("words", blanks("secret", Replacement::Marker)),
    ]);
    let cleared = gates.result(&context(&gates), text("a sec\u{200b}ret b")).await.unwrap();
    assert_eq!(text_of(&cleared), "a [removed by portcullis: rule] b");
    assert_eq!(cleared.receipt().rounds, 3);
}

#[tokio::test]
async fn edits_that_go_on_changing_the_value_are_refused() {
    // The marker itself contains the word.
    let (gates, journal) = gates(vec![on_result("p", blanks("removed", Replacement::Marker))]);
    let refusal = gates.result(&context(&gates), text("removed")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::NotConverging);
    assert_eq!(journal.records()[0].policies.len(), 3);
}

#[tokio::test]
async fn one_policy_cannot_edit_away_the_question_of_another() {
    let asks = Judge(|_: &Facts, subject: &Subject| {
        let asked = segments(subject).iter().any(|segment| segment.text.contains("secret"));
        let verdict =
            if asked { crate::testing::ask("leak", portcullis_model::ApproverClass::Client) } else { Verdict::allow() };
        Ok(answer(subject, &verdict))
    });
    let (gates, _) = gates(vec![on_result("editor", blanks("secret", Replacement::Marker)), on_result("asks", asks)]);
    let refusal = gates.result(&context(&gates), text("secret")).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::NoApprover);
}

#[tokio::test]
async fn a_fence_is_put_up_once_and_after_the_last_round() {
    let fences = |name| {
        on_result(
            name,
            Judge(|facts: &Facts, subject: &Subject| {
                let segment =
                    segments(subject).iter().position(|segment| segment.pointer == "/content/0/text").unwrap();
                assert!(!segments(subject)[segment].text.contains("[portcullis"), "round {}", facts.round);
                let edit = Edit::Fence { rule: rule_id("rule"), segment: u32::try_from(segment).unwrap() };
                Ok(answer(subject, &Verdict { edits: vec![edit], ..Verdict::allow() }))
            }),
        )
    };
    let (gates, _) = gates(vec![fences("a"), fences("b"), on_result("words", blanks("secret", Replacement::Marker))]);
    let cleared = gates.result(&context(&gates), text("a secret b")).await.unwrap();
    let inside = text_of(&cleared);
    assert_eq!(inside.matches("[portcullis").count(), 2, "{inside}");
    assert!(inside.contains("\na [removed by portcullis: rule] b\n"), "{inside}");
    assert_eq!(cleared.receipt().rounds, 2);
}

#[tokio::test]
async fn a_decoded_blob_is_judged_and_edited_as_text() {
    let (gates, _) = gates(vec![on_result("p", blanks("secret", Replacement::Marker))]);
    let blob = crate::segments::binary::encode("a secret");
    let document = format!(r#"{{"contents":[{{"uri":"u","mimeType":"text/plain","blob":"{blob}"}}]}}"#);
    let cleared = gates.result(&context(&gates), message(&document)).await.unwrap();
    let blob = cleared.get().document.pointer("/contents/0/blob").unwrap().as_str().unwrap();
    let decoded = crate::segments::binary::decode(blob).unwrap();
    assert_eq!(String::from_utf8(decoded).unwrap(), "a [removed by portcullis: rule]");
}

#[tokio::test]
async fn lines_of_standard_error_are_edited_as_one_text() {
    let (gates, _) = gates(vec![on_result("p", blanks("secret", Replacement::Marker))]);
    let stderr = ServerMessage { kind: ResultKind::Stderr, document: Value::from("secret"), ..message("{}") };
    let cleared = gates.result(&context(&gates), stderr).await.unwrap();
    assert_eq!(cleared.get().document.as_str(), Some("[removed by portcullis: rule]"));
}

#[tokio::test]
async fn limits_of_several_policies_for_a_request_are_joined_to_the_strictest() {
    let limits = |name, limit: u64| {
        let extensions = portcullis_model::object! { "max-tokens" => limit };
        on_result(name, says(Verdict { extensions, ..Verdict::allow() }))
    };
    let (gates, _) = gates(vec![limits("a", 4096), limits("b", 512)]);
    let request = ServerRequest {
        server: server(),
        kind: RequestKind::Sampling(Sampling::default()),
        document: json(r#"{"messages":[]}"#),
    };
    let (_, extensions) = is_send(gates.request(&context(&gates), request)).await.unwrap();
    assert_eq!(Value::Object(extensions).to_json(), r#"{"max-tokens":512}"#);
}

#[tokio::test]
async fn policies_that_contradict_each_other_about_a_limit_refuse_the_request() {
    let limits = |name, limit: Value| {
        let extensions = portcullis_model::object! { "max_tokens" => limit };
        on_result(name, says(Verdict { extensions, ..Verdict::allow() }))
    };
    let (gates, _) = gates(vec![limits("honest", Value::from(512_u64)), limits("hostile", Value::from("none"))]);
    let request = ServerRequest { server: server(), kind: RequestKind::Roots, document: json("{}") };
    let refusal = gates.request(&context(&gates), request).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Contradiction);
    assert!(gates.result(&context(&gates), message("{}")).await.is_ok(), "nobody reads extensions at other gates");
}

/// Counts how many evaluations run at the same time.
#[derive(Debug, Default)]
struct Counting {
    running: std::sync::atomic::AtomicUsize,
    most: std::sync::atomic::AtomicUsize,
}

impl Evaluate for Arc<Counting> {
    fn evaluate<'a>(&'a self, _facts: &'a Facts, subject: &'a Subject) -> crate::EvaluationFuture<'a> {
        use std::sync::atomic::Ordering::SeqCst;
        Box::pin(async move {
            let running = self.running.fetch_add(1, SeqCst) + 1;
            self.most.fetch_max(running, SeqCst);
            // Everybody else gets as far as they can meanwhile.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.running.fetch_sub(1, SeqCst);
            crate::Evaluation { outcome: Ok(answer(subject, &Verdict::allow())), cost: crate::Cost::default() }
        })
    }
}

#[tokio::test]
async fn few_large_values_are_judged_at_once_and_all_are_judged() {
    for (size, expected) in [(10, 16), (1_000_000, 4)] {
        let counting = Arc::new(Counting::default());
        let (gates, journal) = gates(vec![on_result("p", Arc::clone(&counting))]);
        let context = context(&gates);
        let messages = (0..16).map(|_| gates.result(&context, text(&"x".repeat(size))));
        let outcomes = futures_util::future::join_all(messages).await;
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!(journal.records().len(), 16);
        assert_eq!(counting.most.load(std::sync::atomic::Ordering::SeqCst), expected, "{size}");
    }
}

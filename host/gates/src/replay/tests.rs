use std::sync::{Arc, Mutex};

use portcullis_model::json::Value;
use portcullis_model::{Answer, GateName, ResultKind, ServerName, Verdict, object};

use super::*;
use crate::testing::{Judge, answer, deny, policy, session};
use crate::{Gates, Journal, JournalFuture, NoApprover, PolicySet, Record, ServerMessage};

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Record>>);

impl Journal for Kept {
    fn write(&self, record: Record) -> JournalFuture<'_> {
        self.0.lock().unwrap().push(record);
        Box::pin(std::future::ready(Ok(())))
    }
}

fn message(text: &str) -> ServerMessage {
    let content = vec![Value::from(object! { "type" => "text", "text" => text })];
    ServerMessage {
        server: ServerName::parse("files").unwrap(),
        kind: ResultKind::Result,
        name: "read".to_owned(),
        document: object! { "content" => content }.into(),
    }
}

/// Denies what has a word.
fn against(word: &'static str) -> Arc<ActivePolicy> {
    let judge = Judge(move |_: &Facts, subject: &Subject| -> Result<Answer, Fault> {
        let texts: String = match subject {
            Subject::Result(subject) => subject.segments.iter().map(|segment| segment.text.clone()).collect(),
            Subject::Config(_)
            | Subject::Environment(_)
            | Subject::Listing(_)
            | Subject::Call(_)
            | Subject::Request(_) => String::new(),
        };
        Ok(answer(subject, &if texts.contains(word) { deny("word") } else { Verdict::allow() }))
    });
    Arc::new(policy("against", &[GateName::Result, GateName::Call], judge))
}

#[tokio::test]
async fn what_was_kept_of_a_passage_is_judged_again_to_the_same_and_by_others_to_something_else() {
    let journal = Arc::new(Kept::default());
    let gates = Gates::new(PolicySet::new(vec![against("evil")]), Arc::clone(&journal) as _).with_inputs_kept(true);
    let context = gates.context(session("one"), Arc::new(NoApprover), None);
    gates.result(&context, message("an evil text")).await.unwrap_err();
    gates.result(&context, message("a plain text")).await.unwrap();
    let records = std::mem::take(&mut *journal.0.lock().unwrap());
    for record in &records {
        let [judged] = record.inputs.as_slice() else { panic!("one round") };
        let again = judged.judge_again(&against("evil")).await;
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].outcome, record.policies[0].outcome);
        assert_eq!(judged.position("read", &record.subject), Some(0));
    }
    let other = records[1].inputs[0].judge_again(&against("plain")).await;
    assert_ne!(other[0].outcome, records[1].policies[0].outcome);
}

#[tokio::test]
async fn nothing_is_kept_unless_asked_for() {
    let journal = Arc::new(Kept::default());
    let gates = Gates::new(PolicySet::new(vec![against("evil")]), Arc::clone(&journal) as _);
    let context = gates.context(session("one"), Arc::new(NoApprover), None);
    gates.result(&context, message("a plain text")).await.unwrap();
    assert_eq!(journal.0.lock().unwrap()[0].inputs, Vec::<Arc<Judged>>::new());
}

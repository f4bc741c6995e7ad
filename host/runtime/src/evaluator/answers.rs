//! Answers that are given again.
//!
//! A policy is a pure function of its settings, packs, subject and facts. One that judges calls without their arguments
//! (`needs-payload` is false) sees the same over and over while an agent works with one tool, and its answer need not be
//! computed again. What it logs is then logged once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use portcullis_model::json::Value;
use portcullis_model::{Answer, CallSubject, Facts, Subject};

/// So many answers of one policy are kept: the tools that a handful of sessions use at a time. Looking through them takes
/// a microsecond, the evaluation it spares ten and more.
const MOST: usize = 32;

/// Answers of one policy about calls, without their arguments.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<VecDeque<Known>>);

#[derive(Debug)]
struct Known {
    facts: Facts,
    call: CallSubject,
    answer: Answer,
}

impl Answers {
    fn known(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answer that was given where all that the policy sees was the same.
    pub(super) fn recall(&self, facts: &Facts, subject: &Subject) -> Option<Answer> {
        let Subject::Call(call) = subject else { return None };
        let known = self.known();
        known.iter().find(|known| is_same(&known.call, call) && known.facts == *facts).map(|known| known.answer.clone())
    }

    /// Keeps an answer; the oldest one goes where there are too many.
    pub(super) fn keep(&self, facts: &Facts, subject: &Subject, answer: &Answer) {
        let Subject::Call(call) = subject else { return };
        let call = CallSubject {
            server: call.server.clone(),
            kind: call.kind,
            name: call.name.clone(),
            utility: call.utility,
            annotations: call.annotations.clone(),
            pin: call.pin,
            definition: call.definition,
            arguments: Value::Null,
            segments: Vec::new(),
        };
        let mut known = self.known();
        if known.len() >= MOST {
            known.pop_front();
        }
        known.push_back(Known { facts: facts.clone(), call, answer: answer.clone() });
    }
}

/// Compares what a policy sees of two calls whose arguments are left out.
fn is_same(one: &CallSubject, other: &CallSubject) -> bool {
    // Taken apart, so that a further field has to be thought of here.
    let CallSubject { server, kind, name, utility, annotations, pin, definition, arguments: _, segments: _ } = one;
    *name == other.name
        && *server == other.server
        && *kind == other.kind
        && *utility == other.utility
        && *annotations == other.annotations
        && *pin == other.pin
        && *definition == other.definition
}

#[cfg(test)]
mod tests {
    use portcullis_model::{
        Annotations, CallKind, ClientFacts, Era, PinState, Principal, ServerName, SessionId, Trust, Verdict,
    };

    use super::*;

    fn facts() -> Facts {
        Facts {
            session: SessionId::parse("one").unwrap(),
            principal: Principal::parse("someone").unwrap(),
            client: ClientFacts::default(),
            era: Era::Initialize,
            server: None,
            server_trust: None,
            approver: None,
            labels: Vec::new(),
            echoes_incomplete: false,
            echoes: Vec::new(),
            meters: Vec::new(),
            tool_rounds: 0,
            round: 1,
        }
    }

    fn call(name: &str, arguments: &str) -> CallSubject {
        CallSubject {
            server: ServerName::parse("server").unwrap(),
            kind: CallKind::Tool,
            name: name.to_owned(),
            utility: false,
            annotations: Annotations::default(),
            pin: PinState::Unpinned,
            definition: None,
            arguments: Value::from(arguments),
            segments: Vec::new(),
        }
    }

    #[test]
    fn an_answer_is_given_again_whatever_the_arguments_are_and_for_nothing_else_that_differs() {
        let (answers, answer) = (Answers::default(), Answer::Verdict(Verdict::allow()));
        answers.keep(&facts(), &Subject::Call(call("read", "one")), &answer);
        let recalled = |facts: Facts, call: CallSubject| answers.recall(&facts, &Subject::Call(call)).is_some();
        assert!(recalled(facts(), call("read", "two")));
        assert!(!recalled(facts(), call("write", "one")));
        assert!(!recalled(facts(), CallSubject { pin: PinState::Drifted, ..call("read", "one") }));
        let annotations = Annotations { read_only: Some(true), ..Annotations::default() };
        assert!(!recalled(facts(), CallSubject { annotations, ..call("read", "one") }));
        assert!(!recalled(facts(), CallSubject { utility: true, ..call("read", "one") }));
        assert!(!recalled(Facts { server_trust: Some(Trust::Full), ..facts() }, call("read", "one")));
        assert!(!recalled(Facts { round: 2, ..facts() }, call("read", "one")));
    }

    #[test]
    fn the_oldest_answer_goes_where_there_are_too_many() {
        let (answers, answer) = (Answers::default(), Answer::Verdict(Verdict::allow()));
        for number in 0..=MOST {
            answers.keep(&facts(), &Subject::Call(call(&number.to_string(), "")), &answer);
        }
        assert_eq!(answers.known().len(), MOST);
        assert!(answers.recall(&facts(), &Subject::Call(call("0", ""))).is_none());
        assert!(answers.recall(&facts(), &Subject::Call(call("1", ""))).is_some());
    }
}

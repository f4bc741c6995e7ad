//! Policies made of the texts in `tests/guests`, and facts and subjects for them.

use portcullis_gates::Isolation;
use portcullis_model::json::{Value, parse_str};
use portcullis_model::{
    Annotations, CallKind, CallSubject, ClientFacts, Era, Facts, PinState, Principal, ResultKind, ResultSubject, Role,
    Segment, ServerName, SessionId, Subject,
};
use portcullis_runtime::{Budget, Engine, EngineOptions, Evaluator, Loaded, Loader};

#[path = "../../../../tests/guests/encode.rs"]
mod encode;

pub(crate) use encode::{component, component_of, of_draft, path};

/// Returns an engine that is small enough to have several in one test binary.
pub(crate) fn engine() -> Engine {
    Engine::new(EngineOptions { slots: 16, workers: 2, queue: 16, ..EngineOptions::default() }).unwrap()
}

pub(crate) fn loader() -> Loader {
    Loader::without_cache(engine()).unwrap()
}

pub(crate) fn settings() -> Value {
    parse_str("{}").unwrap()
}

pub(crate) fn load(wasm: &[u8]) -> Loaded {
    loader().load(wasm, &settings(), &[], &Budget::DEFAULT).unwrap()
}

/// Loads the guest of that name with the default budget.
pub(crate) fn evaluator(name: &str) -> Evaluator {
    load(&component(name)).evaluator(Budget::DEFAULT, Isolation::Fresh)
}

pub(crate) fn facts() -> Facts {
    Facts {
        session: SessionId::parse("session").unwrap(),
        principal: Principal::parse("someone").unwrap(),
        client: ClientFacts { name: "client".to_owned(), version: "1".to_owned() },
        era: Era::Initialize,
        server: Some(server()),
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

fn server() -> ServerName {
    ServerName::parse("server").unwrap()
}

pub(crate) fn call_with(text: &str) -> Subject {
    Subject::Call(CallSubject {
        server: server(),
        kind: CallKind::Tool,
        name: "echo".to_owned(),
        utility: false,
        annotations: Annotations::default(),
        pin: PinState::Unpinned,
        definition: None,
        arguments: Value::from(text),
        segments: vec![segment(Role::Argument, text)],
    })
}

pub(crate) fn call() -> Subject {
    call_with("hello")
}

pub(crate) fn result() -> Subject {
    Subject::Result(ResultSubject {
        server: server(),
        kind: ResultKind::Result,
        name: "echo".to_owned(),
        is_error: false,
        segments: vec![segment(Role::Text, "hellö")],
        descriptors: Vec::new(),
    })
}

fn segment(role: Role, text: &str) -> Segment {
    Segment { pointer: "/text".to_owned(), role, key: false, text: text.to_owned() }
}

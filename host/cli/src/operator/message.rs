//! Questions as messages.

use std::time::{Duration, SystemTime};

use portcullis_gates::Pending;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// A prompt shows so many questions; a policy that asks more has its last ones counted.
const MOST_QUESTIONS: usize = 64;

/// A question as it came over the socket. All texts were escaped and bounded by the gateway.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    /// The gateway's process.
    pub(crate) gateway: u64,
    pub(crate) id: String,
    pub(crate) gate: String,
    pub(crate) kind: String,
    pub(crate) server: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) definition: String,
    pub(crate) principal: String,
    pub(crate) session: String,
    pub(crate) lowest_approver: String,
    /// Seconds since 1970.
    pub(crate) asked_at: u64,
    pub(crate) seconds_left: Option<u64>,
    pub(crate) waits: bool,
    pub(crate) answered: Option<bool>,
    pub(crate) usual: String,
    pub(crate) questions: Vec<ShownQuestion>,
    pub(crate) further_questions: u64,
}

/// One question of one policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ShownQuestion {
    pub(crate) policy: String,
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) text: String,
    pub(crate) lowest_approver: String,
}

impl Shown {
    /// Returns a question of this process as it is sent.
    pub(crate) fn of(pending: &Pending) -> Self {
        let prompt = &pending.prompt;
        let questions = prompt.questions.iter().take(MOST_QUESTIONS).map(|asked| ShownQuestion {
            policy: asked.policy.to_string(),
            code: asked.question.code.to_string(),
            severity: asked.question.severity.as_str().to_owned(),
            text: asked.question.text.clone(),
            lowest_approver: asked.question.lowest_approver.as_str().to_owned(),
        });
        Self {
            gateway: u64::from(std::process::id()),
            id: pending.id.clone(),
            gate: prompt.gate.to_string(),
            kind: pending.kind.clone(),
            server: prompt.server.clone(),
            name: prompt.name.clone(),
            arguments: prompt.arguments.clone(),
            definition: prompt.definition.clone(),
            principal: pending.principal.to_string(),
            session: pending.session.clone(),
            lowest_approver: pending.lowest_approver.as_str().to_owned(),
            asked_at: pending.asked_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
            seconds_left: pending.left.map(|left| left.as_secs()),
            waits: pending.waits,
            answered: pending.answered,
            usual: pending.usual.as_str().to_owned(),
            questions: questions.collect(),
            further_questions: prompt.questions.len().saturating_sub(MOST_QUESTIONS) as u64,
        }
    }

    /// Reads it from a message. What is missing is left empty: it is only shown.
    pub(crate) fn read(value: &Value) -> Self {
        let text = |key: &str| text(value, key);
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let question = |value: &Value| ShownQuestion {
            policy: self::text(value, "policy"),
            code: self::text(value, "code"),
            severity: self::text(value, "severity"),
            text: self::text(value, "text"),
            lowest_approver: self::text(value, "lowest_approver"),
        };
        let questions = value.get("questions").and_then(Value::as_array).unwrap_or_default();
        Self {
            gateway: number("gateway").unwrap_or_default(),
            id: text("id"),
            gate: text("gate"),
            kind: text("kind"),
            server: text("server"),
            name: text("name"),
            arguments: text("arguments"),
            definition: text("definition"),
            principal: text("principal"),
            session: text("session"),
            lowest_approver: text("lowest_approver"),
            asked_at: number("asked_at").unwrap_or_default(),
            seconds_left: number("seconds_left"),
            waits: value.get("waits").and_then(Value::as_bool).unwrap_or_default(),
            answered: value.get("answered").and_then(Value::as_bool),
            usual: text("usual"),
            questions: questions.iter().take(MOST_QUESTIONS).map(question).collect(),
            further_questions: number("further_questions").unwrap_or_default(),
        }
    }

    /// Returns how long ago it was asked.
    pub(crate) fn age(&self) -> Duration {
        let asked_at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.asked_at));
        asked_at.and_then(|asked_at| asked_at.elapsed().ok()).unwrap_or_default()
    }
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns a question as a message, and as scripts get it.
pub(crate) fn shown_to_value(shown: &Shown) -> Value {
    let questions = shown.questions.iter().map(|question| {
        Value::from(object! {
            "policy" => question.policy.as_str(),
            "code" => question.code.as_str(),
            "severity" => question.severity.as_str(),
            "text" => question.text.as_str(),
            "lowest_approver" => question.lowest_approver.as_str(),
        })
    });
    let mut object = object! {
        "id" => shown.id.as_str(),
        "gateway" => shown.gateway,
        "gate" => shown.gate.as_str(),
        "kind" => shown.kind.as_str(),
        "server" => shown.server.as_str(),
        "name" => shown.name.as_str(),
        "arguments" => shown.arguments.as_str(),
        "definition" => shown.definition.as_str(),
        "questions" => questions.collect::<Vec<_>>(),
        "further_questions" => shown.further_questions,
        "principal" => shown.principal.as_str(),
        "session" => shown.session.as_str(),
        "lowest_approver" => shown.lowest_approver.as_str(),
        "asked_at" => shown.asked_at,
        "waits" => shown.waits,
        "usual" => shown.usual.as_str(),
    };
    if let Some(left) = shown.seconds_left {
        object.insert("seconds_left", left);
    }
    if let Some(answered) = shown.answered {
        object.insert("answered", answered);
    }
    object.into()
}

/// Returns the message that a request failed.
pub(super) fn error(code: &str, text: &str) -> Object {
    object! { "error" => code, "message" => text }
}

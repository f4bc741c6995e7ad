//! What a server may ask of the client.

use portcullis_model::json::{Number, Object, Value};

use super::chat;
use crate::ChatEndpoint;
use crate::fields::Fields;

/// Reads `sampling`, and who answers in the client's place. Only what is set and valid is in the answer: defaults belong to
/// who applies them. The provider is no setting of policies: it has a key.
pub(crate) fn sampling(fields: &mut Fields<'_, '_>) -> (Value, Option<ChatEndpoint>) {
    let mut settings = Object::new();
    let Some(node) = fields.get("sampling") else {
        return (settings.into(), None);
    };
    let mut inner = Fields::new(node, fields.path.key("sampling"), fields.sink);
    set(&mut settings, "enabled", inner.boolish("enabled"));
    set(&mut settings, "max_rpm", inner.count("max_rpm", 1));
    set(&mut settings, "timeout", inner.seconds("timeout").and_then(|limit| Number::from_f64(limit.as_secs_f64())));
    set(&mut settings, "max_tokens_cap", inner.count("max_tokens_cap", 1));
    set(&mut settings, "max_tool_rounds", inner.count("max_tool_rounds", 0));
    set(&mut settings, "model", inner.text("model"));
    let models = inner.texts("allowed_models");
    set(&mut settings, "allowed_models", models.map(|models| models.into_iter().map(Value::from).collect::<Vec<_>>()));
    let levels = [("debug", "debug"), ("info", "info"), ("warning", "warning")];
    set(&mut settings, "log_level", inner.choice("log_level", &levels));
    set(&mut settings, "expose_client_tools", inner.boolish("expose_client_tools"));
    let provider = chat::provider(&mut inner);
    inner.finish();
    (settings.into(), provider)
}

/// Reads `elicitation`.
pub(crate) fn elicitation(fields: &mut Fields<'_, '_>) -> Value {
    let mut settings = Object::new();
    let Some(node) = fields.get("elicitation") else {
        return settings.into();
    };
    let mut inner = Fields::new(node, fields.path.key("elicitation"), fields.sink);
    set(&mut settings, "enabled", inner.boolish("enabled"));
    set(&mut settings, "timeout", inner.seconds("timeout").and_then(|limit| Number::from_f64(limit.as_secs_f64())));
    inner.finish();
    settings.into()
}

fn set(settings: &mut Object, key: &str, value: Option<impl Into<Setting>>) {
    if let Some(value) = value {
        settings.insert(key, value.into().0);
    }
}

/// A value of a setting, so that each reader can hand over its own type.
struct Setting(Value);

impl From<bool> for Setting {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

impl From<u64> for Setting {
    fn from(value: u64) -> Self {
        Self(value.into())
    }
}

impl From<Number> for Setting {
    fn from(value: Number) -> Self {
        Self(Value::Number(value))
    }
}

impl From<&str> for Setting {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl From<String> for Setting {
    fn from(value: String) -> Self {
        Self(value.into())
    }
}

impl From<Vec<Value>> for Setting {
    fn from(value: Vec<Value>) -> Self {
        Self(value.into())
    }
}

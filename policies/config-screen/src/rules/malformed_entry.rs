//! `malformed-entry`

use portcullis_sdk::Severity;
use portcullis_sdk::serde_json::Value;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks for members of the wrong type: a command that is a list, arguments that are a map.
///
/// # Why
/// What one reader skips, another runs.
///
/// # Example
/// ```yaml
/// command: [bash, -c, "…"]
/// ```
pub(super) const RULE: RuleSpec =
    RuleSpec { id: "malformed-entry", summary: "A member of the wrong type.", severity: Severity::Medium, check };

fn check(context: &Context<'_>, hits: &mut Hits) {
    let Ok(document) = portcullis_sdk::serde_json::from_str::<Value>(&context.entry.document) else {
        hits.deny("the entry cannot be read", "");
        return;
    };
    let wrong =
        |key: &str, fits: fn(&Value) -> bool| document.get(key).is_some_and(|value| !value.is_null() && !fits(value));
    if wrong("command", |value| value.is_string() || value.is_number() || value.is_boolean()) {
        hits.deny("the command is no text", "command");
    }
    if wrong("args", |value| !value.is_object()) {
        hits.deny("the arguments are a map", "args");
    }
    if wrong("env", Value::is_object) {
        hits.flag("the variables are no map, and are not set", "env");
    }
    if wrong("url", Value::is_string) {
        hits.deny("the URL is no text", "url");
    }
}

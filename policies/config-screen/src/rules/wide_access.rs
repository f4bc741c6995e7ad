//! `wide-access`

use portcullis_sdk::Severity;
use portcullis_sdk::serde_json::Value;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks for what is wider than most servers need: the root of the file system or folders with keys as an argument, approvals that
/// an entry gives itself, a listener on all addresses.
///
/// # Why
/// None of it is an attack; the operator should have meant it.
///
/// # Example
/// ```yaml
/// command: npx
/// args: [-y, "@modelcontextprotocol/server-filesystem", /]
/// ```
pub(super) const RULE: RuleSpec =
    RuleSpec { id: "wide-access", summary: "Wider access than most servers need.", severity: Severity::Low, check };

fn check(context: &Context<'_>, hits: &mut Hits) {
    for program in context.behaviour.programs.iter().filter(|program| !program.scripted) {
        for argument in &program.arguments {
            let lower = argument.to_lowercase();
            let value = lower.rsplit('=').next().unwrap_or_default();
            if matches!(value, "/" | "~" | "/etc" | "/root" | "/home" | "c:\\" | "c:/" | "/users") {
                hits.flag(format!("`{}` is given `{value}`", program.name), argument);
            }
            if [".ssh", ".aws", ".gnupg", ".kube", ".config/gcloud", ".docker"]
                .iter()
                .any(|folder| value.ends_with(folder))
            {
                hits.flag(format!("`{}` is given a folder with keys", program.name), argument);
            }
        }
    }
    for variable in &context.entry.environment {
        if variable.value == "0.0.0.0"
            || (variable.name.to_uppercase().contains("CORS") && variable.value.trim() == "*")
        {
            hits.flag(format!("`{}` opens the server to everybody who can reach it", variable.name), &variable.name);
        }
    }
    let document: Value = portcullis_sdk::serde_json::from_str(&context.entry.document).unwrap_or_default();
    for key in ["autoApprove", "alwaysAllow", "auto_approve", "trust"] {
        let given = document.get(key).is_some_and(|value| match value {
            Value::Bool(given) => *given,
            Value::Array(tools) => !tools.is_empty(),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
        });
        if given {
            hits.flag("the entry approves its own calls", key);
        }
    }
}

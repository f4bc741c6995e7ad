//! Which items of a server are used.

use crate::ToolFilter;
use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, wrong_type};
use crate::sink::Mistake;
use crate::tree::Kind;

/// Reads `tools`: a map, or a list or text of names as shorthand for `include`.
pub(crate) fn filter(fields: &mut Fields<'_, '_>) -> ToolFilter {
    let Some(node) = fields.get("tools") else {
        return ToolFilter::default();
    };
    match &node.kind {
        Kind::Map(_) => {
            let mut inner = Fields::new(node, fields.path.key("tools"), fields.sink);
            let include = inner.texts("include");
            let exclude = inner.texts("exclude").unwrap_or_default();
            if include.is_some() && !exclude.is_empty() {
                let message = "`include` wins over `exclude`, which has no effect";
                let place = inner.key_place("exclude");
                inner.report("exclude", place, Mistake::warning(DiagnosticKind::Conflict, message));
            }
            let filter = ToolFilter {
                include,
                exclude,
                resources: inner.boolish("resources").unwrap_or(true),
                prompts: inner.boolish("prompts").unwrap_or(true),
            };
            inner.finish();
            filter
        }
        Kind::List(_) => ToolFilter { include: fields.texts("tools"), ..ToolFilter::default() },
        Kind::Text { text, .. } => {
            let names = text.split([',', '\n', ' ']).map(str::trim).filter(|name| !name.is_empty());
            ToolFilter { include: Some(names.map(str::to_owned).collect()), ..ToolFilter::default() }
        }
        Kind::Null | Kind::Plain(..) => {
            fields.report("tools", node.place, wrong_type("a map with `include` or `exclude`", node));
            ToolFilter::default()
        }
    }
}

//! `exempt` of a policy: rules of it that do not count for a server, for some time.

use portcullis_model::{Day, Exemption, RuleId, ServerName};

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, wrong_type};
use crate::sink::Mistake;
use crate::tree::Kind;

/// So many exemptions of one policy are read; who needs more needs another policy.
const MOST: usize = 256;

/// Reads `exempt`. One with a mistake is left out: nothing is exempted by it.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Vec<Exemption> {
    let Some(node) = fields.get("exempt") else { return Vec::new() };
    let Kind::List(items) = &node.kind else {
        let hint = "write `exempt: [{rule: R, server: S, until: 2026-01-31, reason: …}]`";
        fields.report("exempt", node.place, wrong_type("a list of exemptions", node).hint(hint));
        return Vec::new();
    };
    if items.len() > MOST {
        let message = format!("there are {} exemptions; at most {MOST} are read", items.len());
        fields.report("exempt", node.place, Mistake::error(DiagnosticKind::BadValue, message));
    }
    let path = fields.path.key("exempt");
    let mut exemptions = Vec::new();
    for (index, item) in items.iter().take(MOST).enumerate() {
        exemptions.extend(exemption(Fields::new(item, path.index(index), fields.sink)));
    }
    exemptions
}

fn exemption(mut fields: Fields<'_, '_>) -> Option<Exemption> {
    let rule = needed(&mut fields, "rule", |text| RuleId::parse(text).map_err(|error| error.to_string()));
    let server = needed(&mut fields, "server", |text| ServerName::parse(text).map_err(|error| error.to_string()));
    let until = needed(&mut fields, "until", |text| Day::parse(text).map_err(|error| error.to_string()));
    let reason = needed(&mut fields, "reason", |text| match text.trim() {
        "" => Err("is empty".to_owned()),
        reason => Ok(reason.to_owned()),
    });
    let named = fields.raw("tool").is_some();
    let tool = fields.text("tool");
    fields.finish();
    // A tool that could not be read must not become all tools.
    let readable = tool.is_some() || !named;
    Some(Exemption { rule: rule?, server: server?, tool, until: until?, reason: reason? }).filter(|_| readable)
}

fn needed<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let Some(text) = fields.text(key) else {
        if fields.get(key).is_none() {
            let message = format!("an exemption needs `{key}`");
            let place = fields.place;
            fields.report(key, place, Mistake::error(DiagnosticKind::BadValue, message));
        }
        return None;
    };
    match parse(&text) {
        Ok(value) => Some(value),
        Err(why) => {
            let place = fields.place_of(key);
            fields.report(
                key,
                place,
                Mistake::error(DiagnosticKind::BadValue, format!("`{}` {why}", text.escape_debug())),
            );
            None
        }
    }
}

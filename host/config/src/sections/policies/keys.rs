//! `policies.keys` and `policies.allow_unsigned`: who may ship policies and packs.

use std::error::Error as _;

use portcullis_model::GateName;
use portcullis_signatures::{Names, PublicKey, TrustedKey};

use super::AllowUnsigned;
use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, nearest, not_a_choice, wrong_type};
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::tree::{Kind, Node};

/// So many keys may there be: a vendor or two, and those of a team.
const MOST_KEYS: usize = 64;

/// Reads `keys`. A key with a mistake is left out: what it signs is as if nobody had.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Vec<TrustedKey> {
    let Some(node) = fields.get("keys") else { return Vec::new() };
    let Kind::List(items) = &node.kind else {
        fields.report("keys", node.place, wrong_type("a list of keys", node));
        return Vec::new();
    };
    if items.len() > MOST_KEYS {
        let message = format!("there are {} keys; at most {MOST_KEYS} are read", items.len());
        fields.report("keys", node.place, Mistake::error(DiagnosticKind::BadValue, message));
    }
    let path = fields.path.key("keys");
    let mut keys: Vec<TrustedKey> = Vec::new();
    for (index, item) in items.iter().take(MOST_KEYS).enumerate() {
        let path = path.index(index);
        let Some(key) = key(item, &path, fields.sink) else { continue };
        if keys.iter().any(|known| known.name == key.name) {
            let message = format!("there are two keys named `{}`; the first one counts", key.name);
            fields.sink.push(&path.key("name"), item.place, Mistake::error(DiagnosticKind::Conflict, message));
            continue;
        }
        keys.push(key);
    }
    keys
}

fn key(node: &Node, path: &KeyPath, sink: &mut Sink) -> Option<TrustedKey> {
    let mut fields = Fields::new(node, path.clone(), sink);
    let name = needed(&mut fields, "name");
    let encoded = needed(&mut fields, "key");
    let encoded = encoded.and_then(|text| {
        let error = match PublicKey::parse(&text) {
            Ok(key) => return Some(key),
            Err(error) => error.to_string(),
        };
        bad(&mut fields, "key", &error);
        None
    });
    let names = fields.texts("names").unwrap_or_default();
    let names = match Names::parse(names.iter().map(String::as_str)) {
        Ok(names) => Some(names),
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            bad(&mut fields, "names", &format!("{error}{cause}"));
            None
        }
    };
    let gates = fields.texts("gates").map(|gates| gates_of(&gates, &mut fields));
    let may_loosen = fields.boolish("may_loosen").unwrap_or_default();
    fields.finish();
    Some(TrustedKey { name: name?, key: encoded?, names: names?, gates, may_loosen })
}

fn needed(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key).filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let place = fields.place;
        let message = format!("a key needs `{key}`");
        fields.report(key, place, Mistake::error(DiagnosticKind::BadValue, message));
    }
    text
}

/// Reports a bad value, whose message may end with its own hint.
fn bad(fields: &mut Fields<'_, '_>, key: &'static str, error: &str) {
    let place = fields.place_of(key);
    let (message, hint) = error.split_once("; hint: ").map_or((error, None), |(text, hint)| (text, Some(hint)));
    let mistake = Mistake::error(DiagnosticKind::BadValue, message);
    fields.report(key, place, mistake.maybe_hint(hint.map(str::to_owned)));
}

/// Reads gates. An unknown one is left out, which narrows the scope.
fn gates_of(names: &[String], fields: &mut Fields<'_, '_>) -> Vec<GateName> {
    let mut gates = Vec::new();
    for name in names {
        if let Some(gate) = GateName::parse(name) {
            gates.push(gate);
            continue;
        }
        let near = nearest(name, GateName::ALL.into_iter().map(GateName::as_str));
        let place = fields.place_of("gates");
        let mistake = Mistake::error(DiagnosticKind::BadValue, format!("there is no gate named `{name}`"));
        fields.report("gates", place, mistake.maybe_hint(near.map(|near| format!("did you mean `{near}`?"))));
    }
    gates
}

/// Reads `allow_unsigned`: a boolean, or `packs`. A mistake allows nothing.
pub(super) fn allow_unsigned(fields: &mut Fields<'_, '_>) -> Option<AllowUnsigned> {
    let node = fields.get("allow_unsigned")?;
    if node.scalar_text().is_some_and(|text| text.trim().eq_ignore_ascii_case("packs")) {
        return Some(AllowUnsigned::Packs);
    }
    match crate::fields::boolish(node) {
        Some(true) => Some(AllowUnsigned::All),
        Some(false) => Some(AllowUnsigned::Nothing),
        None => {
            let mistake = not_a_choice(node, ["true", "packs", "false"].into_iter());
            fields.report("allow_unsigned", node.place, mistake);
            Some(AllowUnsigned::Nothing)
        }
    }
}

//! Which members may be removed.

use portcullis_model::json::Value;

use crate::segments::Place;

/// Whether a member may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removable {
    /// It may.
    Yes,
    /// It is there, and nothing that a policy may remove.
    No,
    /// There is no such member.
    Absent,
}

/// Decides about the member that a pointer names: only what stands under the protocol's own `_meta` and annotations, and
/// optional members of listed items, is optional to every reader. A `_meta` inside somebody's data is data.
pub(crate) fn removable(document: &Value, root: Place, pointer: &str) -> Removable {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return Removable::Absent;
    };
    let key = last.replace("~1", "/").replace("~0", "~");
    let is_member = document.pointer(parent).and_then(Value::as_object).is_some_and(|object| object.contains_key(&key));
    if !is_member {
        return Removable::Absent;
    }
    let mut place = root;
    let mut value = document;
    for token in parent.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let Some(next) = value.pointer(&format!("/{}", portcullis_model::json::escape(&token))) else {
            return Removable::Absent;
        };
        if value.as_object().is_some() {
            place = place.member(&token).unwrap_or_else(|| place.unknown());
        }
        if matches!(place, Place::Meta | Place::Annotations) {
            return Removable::Yes;
        }
        value = next;
    }
    let allowed = match place.member(&key) {
        Some(Place::Meta | Place::Annotations) => true,
        _ => place == Place::Item && parent.is_empty() && is_optional(&key),
    };
    if allowed { Removable::Yes } else { Removable::No }
}

/// Members of a listed item without which it is still the same item with the same parameters.
fn is_optional(key: &str) -> bool {
    !matches!(key, "name" | "uri" | "uriTemplate" | "inputSchema" | "arguments" | "mimeType")
}

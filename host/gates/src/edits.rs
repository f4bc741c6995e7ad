//! What policies wished to change, merged and applied by the host.
//!
//! All edits of all policies are a union over the original: their order does not matter, and none can undo another.

mod blank;
mod fence;
mod removal;

use std::collections::BTreeMap;

use portcullis_model::json::{Value, push_index, push_key};
use portcullis_model::{Edit, Replacement, RuleId, Segment};

use crate::segments::{Place, binary};
use blank::Blank;
pub(crate) use fence::{Fence, may_fence, put_up};
pub(crate) use removal::{Removable, removable};

/// So many markers stand for blanked spans of one subject at most. A marker is longer than the character that it may
/// stand for: without a bound, a policy could make a message of a hundred times its size.
const MOST_MARKERS: usize = 16_384;

/// The edits could not be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    /// They would leave more markers than [`MOST_MARKERS`].
    #[error("the edits leave too many markers")]
    TooManyMarkers,
    /// A segment is no longer where the walk found it.
    #[error("a segment is not where it was found")]
    Lost,
}

/// What came of the edits of one round.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// True where the document is no longer what was judged.
    pub(crate) changed: bool,
    /// Segments to fence once the rounds are over.
    pub(crate) fences: Vec<Fence>,
}

/// Applies checked edits to the document whose segments were judged.
pub(crate) fn apply<'a>(
    document: &mut Value,
    segments: &[Segment],
    encoded: &[usize],
    edits: impl Iterator<Item = &'a Edit>,
) -> Result<Applied, EditError> {
    let mut blanks: BTreeMap<usize, Vec<Blank<'a>>> = BTreeMap::new();
    let mut fences: BTreeMap<usize, &RuleId> = BTreeMap::new();
    let mut removals: Vec<&str> = Vec::new();
    for edit in edits {
        match edit {
            Edit::Blank { rule, span, replacement } => {
                let blank = Blank::new(span.start, span.end, rule, *replacement == Replacement::Nothing);
                blanks.entry(span.segment as usize).or_default().push(blank);
            }
            Edit::Fence { rule, segment } => {
                fences.entry(*segment as usize).or_insert(rule);
            }
            Edit::Remove { pointer, .. } => removals.push(pointer),
        }
    }
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut markers = 0;
    for (index, spans) in blanks {
        let segment = segments.get(index).ok_or(EditError::Lost)?;
        let merged = blank::merge(&segment.text, spans);
        markers += merged.iter().filter(|blank| blank.leaves_marker()).count();
        if markers > MOST_MARKERS {
            return Err(EditError::TooManyMarkers);
        }
        let text = blank::render(&segment.text, &merged);
        if text != segment.text {
            let is_encoded = encoded.binary_search(&index).is_ok();
            texts.insert(&segment.pointer, if is_encoded { binary::encode(&text) } else { text });
        }
    }
    let mut applied = Applied { changed: !texts.is_empty(), fences: Vec::new() };
    if applied.changed {
        each_string(document, &mut String::new(), &mut |pointer, place| {
            if let Some(text) = texts.remove(pointer) {
                *place = text;
            }
        });
        if !texts.is_empty() {
            return Err(EditError::Lost);
        }
    }
    for pointer in removals {
        applied.changed |= document.remove_pointer(pointer).is_some();
    }
    applied.fences = fences
        .into_keys()
        .filter_map(|index| {
            let segment = segments.get(index)?;
            Some(Fence { pointer: segment.pointer.clone(), encoded: encoded.binary_search(&index).is_ok() })
        })
        .collect();
    Ok(applied)
}

/// Visits every string value with its pointer. One walk for all edits: looking up each pointer from the root would cost
/// the square of the size where an object has many members.
fn each_string(value: &mut Value, pointer: &mut String, visit: &mut impl FnMut(&str, &mut String)) {
    let base = pointer.len();
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                push_index(pointer, index);
                each_string(item, pointer, visit);
                pointer.truncate(base);
            }
        }
        Value::Object(object) => {
            for (key, member) in object.iter_mut() {
                push_key(pointer, key);
                each_string(member, pointer, visit);
                pointer.truncate(base);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns true where the segment names its item: blanking it would publish the item under another name.
pub(crate) fn is_identity(place: Place, segment: &Segment) -> bool {
    place == Place::Item && matches!(segment.pointer.as_str(), "/name" | "/uri" | "/uriTemplate")
}

#[cfg(test)]
mod tests;

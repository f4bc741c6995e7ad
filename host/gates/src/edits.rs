//! What policies wished to change, merged and applied by the host.
//!
//! All edits of all policies are a union over the original: their order does not matter, and none can undo another.

mod blank;
mod fence;
mod removal;

use std::collections::BTreeMap;

use portcullis_model::json::Value;
use portcullis_model::{Edit, Replacement, RuleId, Segment};

use crate::segments::{Place, binary};
use blank::Blank;
pub(crate) use fence::{Fence, may_fence};
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
    let mut applied = Applied::default();
    let mut markers = 0;
    for (index, spans) in blanks {
        let segment = segments.get(index).ok_or(EditError::Lost)?;
        let merged = blank::merge(&segment.text, spans);
        markers += merged.iter().filter(|blank| blank.leaves_marker()).count();
        if markers > MOST_MARKERS {
            return Err(EditError::TooManyMarkers);
        }
        let text = blank::render(&segment.text, &merged);
        if text == segment.text {
            continue;
        }
        let is_encoded = encoded.binary_search(&index).is_ok();
        let place = document.pointer_mut(&segment.pointer).ok_or(EditError::Lost)?;
        let Value::String(place) = place else {
            return Err(EditError::Lost);
        };
        *place = if is_encoded { binary::encode(&text) } else { text };
        applied.changed = true;
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

/// Returns true where the segment names its item: blanking it would publish the item under another name.
pub(crate) fn is_identity(place: Place, segment: &Segment) -> bool {
    place == Place::Item && matches!(segment.pointer.as_str(), "/name" | "/uri" | "/uriTemplate")
}

#[cfg(test)]
mod tests;

//! What labelled content of a session comes back in the arguments of a call.
//!
//! A policy has no memory, so the host remembers: texts of results that were labelled, folded (lower case, white space
//! run together), up to a bound. When a call is judged, its arguments are looked up in two ways.
//!
//! - A *value*: a short argument as a whole, and what looks like an address in it, by plain search. It finds what stands
//!   between word boundaries, however short, and no content can make it miss.
//! - *Fragments* of longer texts, by fingerprints: of all runs of six bytes winnowing keeps at least one of any five in a
//!   row (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003). Every common part of at least ten bytes contains one that
//!   is kept of either text; around each that both have the texts are compared, so that what is told is a fact.
//!
//! Arguments are looked at as they are, backwards, and decoded from base64, hex and percent encoding. A text that is
//! JSON or laid out as YAML is taken apart into its leaves, so that the host can tell a value that is a whole leaf (a
//! sender field) from one that stands in prose.
//!
//! Where a bound is hit, echoes may be missing, and the facts say so: labels alone are left to decide by.
//!
//! Cost: nothing where no policy of the call gate declares labels. Else, measured in a release build on a busy machine:
//! learning 30 to 130 ns a byte, once for each result; a call with an address 2 µs with 2 KB remembered and 9 µs with
//! 200 KB, since a value is one pass of plain search over at most [`index::MOST_TEXT`]; a call with a letter of 2 KB 0.3
//! ms, a hash look-up for each byte, forwards and backwards.

mod fingerprint;
mod fold;
mod index;
mod layout;
mod probe;

use portcullis_model::{Echo, Encoding, Role, Segment, Span};

use crate::session::Marked;
use fold::fold;
use index::{Effort, Hit, Index};
use layout::leaves;
use probe::{Probe, Probes};

/// So many echoes are told of one call: a policy decides by the first of them.
const MOST_ECHOES: usize = 128;

/// A value of fewer bytes says nothing about where it came from.
const SHORTEST_VALUE: usize = 4;

/// A value is searched for as a whole up to this size: an address, a name, an identifier.
const LONGEST_VALUE: usize = 256;

/// What a session remembers of labelled content.
#[derive(Debug, Default)]
pub(crate) struct Echoes {
    index: Index,
}

/// What is known of the arguments of a call.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) echoes: Vec<Echo>,
    /// True where echoes may be missing.
    pub(crate) incomplete: bool,
}

impl Echoes {
    /// Remembers the texts of a labelled value. Keys are names that a server chose for its data.
    pub(crate) fn learn(&mut self, marked: &[Marked], texts: &[Segment]) {
        let Some(first) = marked.first() else {
            return;
        };
        let source = self.index.source(&first.fact.server, &first.fact.tool);
        for segment in texts.iter().filter(|segment| !segment.key) {
            let names = marked
                .iter()
                .filter(|marked| marked.pointer.as_ref().is_none_or(|pointer| *pointer == segment.pointer))
                .map(|marked| marked.fact.name.as_str());
            let labels = self.index.labels(names);
            let structured = segment.role == Role::Structured;
            if labels == 0 || !self.index.take(&segment.text, structured, source, labels) {
                continue;
            }
            if self.index.has_no_room() {
                self.index.note_left_out();
                continue;
            }
            for leaf in leaves(&segment.text, structured) {
                // A byte more than there is room for tells that some were left out.
                let folded = fold(&leaf.text, self.index.room() + 1);
                if folded.len() >= SHORTEST_VALUE {
                    self.index.add(&folded, leaf.structured, source, labels);
                }
            }
        }
    }

    /// Tells what of the arguments is known.
    pub(crate) fn find(&self, arguments: &[Segment]) -> Found {
        let mut found = Found { echoes: Vec::new(), incomplete: self.index.is_full() };
        if self.index.is_empty() {
            return found;
        }
        let (mut probes, mut effort) = (Probes::default(), Effort::default());
        for (number, segment) in (0_u32..).zip(arguments) {
            for probe in probes.of(&segment.text) {
                self.look_up((number, &segment.text), &probe, &mut effort, &mut found);
            }
        }
        found.incomplete |= probes.cut_short() || effort.is_spent();
        found
    }

    fn look_up(&self, (segment, text): (u32, &str), probe: &Probe, effort: &mut Effort, found: &mut Found) {
        let bytes = probe.folded.text.as_bytes();
        let mut whole = false;
        for range in probe.values() {
            let Some(value) = bytes.get(range.clone()) else {
                continue;
            };
            for hit in self.index.values(value) {
                whole |= range.len() == bytes.len();
                self.tell(segment, probe.span(&range, text), probe.encoding, hit, found);
            }
        }
        if !whole {
            for (range, hit) in self.index.fragments(bytes, effort) {
                self.tell(segment, probe.span(&range, text), probe.encoding, hit, found);
            }
        }
    }

    fn tell(&self, segment: u32, (start, end): (u32, u32), encoding: Encoding, hit: Hit, found: &mut Found) {
        let span = Span { segment, start, end };
        for told in self.index.describe(hit) {
            if found.echoes.len() >= MOST_ECHOES {
                found.incomplete = true;
                return;
            }
            found.echoes.push(Echo {
                span,
                label: told.label.to_owned(),
                server: told.server.to_owned(),
                tool: told.tool.to_owned(),
                encoding,
                prose: hit.prose,
                length: hit.length,
                text: hit.piece,
            });
        }
    }
}

#[cfg(test)]
mod tests;

//! The walk over a value that collects its model-visible strings.

use portcullis_model::json::{Object, Value, push_index, push_key};
use portcullis_model::{Descriptor, Digest, Role, Segment};

use super::binary::{self, Held};
use super::place::Place;
use super::words::is_known_word;

/// A text of this size, keys included, is what one evaluation gets at most (design §6).
pub(crate) const MOST_TEXT: usize = 4 * 1024 * 1024;

/// So many bytes of pointers come with it at most: long keys around many small strings would multiply a message.
const MOST_POINTERS: usize = 8 * 1024 * 1024;

/// So many strings are judged at once at most. Each is a record of its own in the 64 MiB of a policy, so that a
/// message of a million tiny words would cost far more than its bytes.
const MOST_SEGMENTS: usize = 131_072;

/// Parsed values nest 64 levels at most; this bounds the walk over those that were put together by a program.
const DEEPEST: usize = 128;

/// The subject is larger than a gate judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// What a walk collected.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The strings.
    pub(crate) segments: Vec<Segment>,
    /// The binaries.
    pub(crate) descriptors: Vec<Descriptor>,
    /// Indices of those segments that are base64 in the document, ascending.
    pub(crate) encoded: Vec<usize>,
    /// Bytes that count against [`MOST_TEXT`].
    pub(crate) size: usize,
}

/// Collects the model-visible strings of a value that stands at a place.
pub(crate) fn collect(value: &Value, place: Place) -> Result<Collected, TooLarge> {
    run(value, place, false)
}

/// Collects the same where policies get the value itself as well: then all of it counts against the size.
pub(crate) fn collect_whole(value: &Value, place: Place) -> Result<Collected, TooLarge> {
    run(value, place, true)
}

fn run(value: &Value, place: Place, whole: bool) -> Result<Collected, TooLarge> {
    let mut walk = Walk {
        collected: Collected::default(),
        pointer: String::new(),
        text: MOST_TEXT,
        pointers: MOST_POINTERS,
        depth: 0,
        whole,
    };
    walk.value(value, place)?;
    walk.collected.size = MOST_TEXT - walk.text;
    Ok(walk.collected)
}

struct Walk {
    collected: Collected,
    pointer: String,
    /// Bytes of text that may still be collected.
    text: usize,
    /// Bytes of pointers that may still be collected.
    pointers: usize,
    depth: usize,
    /// True where numbers and literals count, too.
    whole: bool,
}

impl Walk {
    fn value(&mut self, value: &Value, place: Place) -> Result<(), TooLarge> {
        match value {
            Value::String(text) if place == Place::Word && is_known_word(text) => Ok(()),
            Value::String(text) => self.push(place.role(), false, text.clone()),
            Value::Array(items) => self.nested(|walk| walk.array(items, place)),
            Value::Object(object) => self.nested(|walk| walk.object(object, place)),
            Value::Number(number) if self.whole => self.charge(number.as_str().len()),
            Value::Null | Value::Bool(_) if self.whole => self.charge("false".len()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Result<(), TooLarge>) -> Result<(), TooLarge> {
        if self.depth == DEEPEST {
            return Err(TooLarge);
        }
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, items: &[Value], place: Place) -> Result<(), TooLarge> {
        let base = self.pointer.len();
        for (index, item) in items.iter().enumerate() {
            push_index(&mut self.pointer, index);
            self.value(item, place)?;
            self.pointer.truncate(base);
        }
        Ok(())
    }

    fn object(&mut self, object: &Object, place: Place) -> Result<(), TooLarge> {
        let base = self.pointer.len();
        for (key, value) in object.iter() {
            push_key(&mut self.pointer, key);
            match place.member(key) {
                Some(_) if matches!(place, Place::Content | Place::Contents) && binary::is_binary(object, key) => {
                    self.binary(object, value)?;
                }
                Some(inner) => self.value(value, inner)?,
                None => {
                    self.push(Role::Name, true, key.to_owned())?;
                    self.value(value, place.unknown())?;
                }
            }
            self.pointer.truncate(base);
        }
        Ok(())
    }

    fn binary(&mut self, block: &Object, value: &Value) -> Result<(), TooLarge> {
        let Some(encoded) = value.as_str() else {
            return self.value(value, Place::Free(Role::Other));
        };
        let mime = block.get("mimeType").and_then(Value::as_str).unwrap_or_default();
        match binary::open(encoded, mime) {
            Held::Opaque => self.push(Role::Text, false, encoded.to_owned()),
            Held::Text(text) => {
                self.collected.encoded.push(self.collected.segments.len());
                self.push(Role::Text, false, text)
            }
            Held::Bytes(bytes) => {
                self.charge(0)?;
                self.collected.descriptors.push(Descriptor {
                    pointer: self.pointer.clone(),
                    mime: mime.to_owned(),
                    length: bytes.len() as u64,
                    digest: Digest::of(&bytes),
                });
                Ok(())
            }
        }
    }

    fn push(&mut self, role: Role, key: bool, text: String) -> Result<(), TooLarge> {
        if text.is_empty() {
            // Nothing to judge, and nothing that a span could name. An empty base64 text leaves no trace either.
            let next = self.collected.segments.len();
            self.collected.encoded.retain(|index| *index != next);
            return Ok(());
        }
        self.charge(text.len())?;
        if self.collected.segments.len() == MOST_SEGMENTS {
            return Err(TooLarge);
        }
        self.collected.segments.push(Segment { pointer: self.pointer.clone(), role, key, text });
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.text = self.text.checked_sub(bytes).ok_or(TooLarge)?;
        self.pointers = self.pointers.checked_sub(self.pointer.len()).ok_or(TooLarge)?;
        Ok(())
    }
}

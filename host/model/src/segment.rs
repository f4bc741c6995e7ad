//! Model-visible strings and the ranges inside them.

use serde::{Deserialize, Serialize};

/// What a segment is to the model that reads it. Mirrors `types.role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// A name by which something is called.
    Name,
    /// A title for people.
    Title,
    /// A description of an item or of one of its parameters.
    Description,
    /// Text inside a schema that is no description.
    Schema,
    /// A value inside annotations.
    Annotation,
    /// The instructions that a server gives for its use.
    Instructions,
    /// A string inside the arguments of a call.
    Argument,
    /// Text content of a result or a message.
    Text,
    /// A string inside structured content.
    Structured,
    /// A string under `_meta`.
    Meta,
    /// The text of an error.
    Error,
    /// A URI or a URL.
    Uri,
    /// A log line, a line of standard error, or a progress message.
    Log,
    /// A string of a server entry.
    Entry,
    /// Anything else that the model may see.
    Other,
}

/// One model-visible string of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// JSON pointer (RFC 6901) into the document; for a key, the pointer of its member.
    pub pointer: String,
    /// What it is to the model.
    pub role: Role,
    /// True where `text` is an object key.
    pub key: bool,
    /// The text.
    pub text: String,
}

/// A range of UTF-8 bytes of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// Index into the segments of the subject.
    pub segment: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the spanned text, or nothing where the span does not fit the segments or cuts a character.
    pub fn text<'a>(&self, segments: &'a [Segment]) -> Option<&'a str> {
        segments.get(self.segment as usize)?.text.get(self.start as usize..self.end as usize)
    }
}

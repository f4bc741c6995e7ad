//! `results`: how large a result may be, and what of it is sent once.

use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::Sink;
use crate::tree::Node;

/// Bytes of text of one result: about half a million tokens, more than any model reads. The reference client has the same
/// number of characters.
const LARGEST_TEXT: usize = 2_000_000;

/// Below it nothing of use is left of a result.
const LEAST: u64 = 1_000;

/// More than a gate judges of one message (4 MiB) is refused anyway.
const MOST: u64 = 4_000_000;

/// Full copies of shortened results that are kept.
const COPIES: u64 = 32;

/// More is no use to a person, and each may have 16 MiB.
const MOST_COPIES: u64 = 1_000;

/// What goes where the structured content of a result and a text of it say the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repeated {
    /// Both are passed on. Clients read one or the other: those that check a tool's output schema need the structured
    /// content, and those of before it need the text. Nobody but the operator knows which it is.
    #[default]
    Both,
    /// The text.
    Text,
    /// The structured content.
    Structured,
}

/// How large a result may be, and what of it is sent once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Results {
    /// Bytes of text of one result. Of more, the head and the tail are passed on.
    pub largest_text: usize,
    /// So many full copies of shortened results are kept, the latest; none at zero.
    pub copies: usize,
    /// What is passed on where structured content and a text say the same.
    pub repeated: Repeated,
}

impl Default for Results {
    fn default() -> Self {
        let copies = usize::try_from(COPIES).unwrap_or(usize::MAX);
        Self { largest_text: LARGEST_TEXT, copies, repeated: Repeated::default() }
    }
}

/// Reads `results: {largest_text: 2000000, copies: 32, repeated: both | text | structured}`.
pub(crate) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> Results {
    let mut fields = Fields::new(node, path.clone(), sink);
    let defaults = Results::default();
    let bytes = fields.count("largest_text", LEAST).map(|bytes| bytes.min(MOST));
    let copies = fields.count("copies", 0).map(|copies| copies.min(MOST_COPIES));
    let words = [("both", Repeated::Both), ("text", Repeated::Text), ("structured", Repeated::Structured)];
    let repeated = fields.choice("repeated", &words);
    fields.finish();
    let or =
        |number: Option<u64>, other: usize| number.and_then(|number| usize::try_from(number).ok()).unwrap_or(other);
    Results {
        largest_text: or(bytes, defaults.largest_text),
        copies: or(copies, defaults.copies),
        repeated: repeated.unwrap_or_default(),
    }
}

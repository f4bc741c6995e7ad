//! What a policy may wish to change.

use crate::{RuleId, Span};

/// What stands in the place of a blanked span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// A short marker that the host writes and that names the rule.
    Marker,
    /// Nothing, honoured only for control and default-ignorable characters.
    Nothing,
}

/// A wish to change the subject. Edits never loosen: see the gates crate for what is honoured where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Blanks a span of a segment that is no key.
    Blank {
        /// The rule that the marker names.
        rule: RuleId,
        /// What to blank.
        span: Span,
        /// What stands in its place.
        replacement: Replacement,
    },
    /// Removes one optional member.
    Remove {
        /// The rule that the record names.
        rule: RuleId,
        /// JSON pointer of the member.
        pointer: String,
    },
    /// Puts a whole segment between the host's markers for untrusted text.
    Fence {
        /// The rule that the record names.
        rule: RuleId,
        /// Index of the segment.
        segment: u32,
    },
}

impl Edit {
    /// Returns the rule that wished for the edit.
    pub fn rule(&self) -> &RuleId {
        match self {
            Self::Blank { rule, .. } | Self::Remove { rule, .. } | Self::Fence { rule, .. } => rule,
        }
    }
}

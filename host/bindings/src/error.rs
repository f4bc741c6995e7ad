//! What can go wrong between the host and a guest, whatever line of the contract the guest is of.

use portcullis_model::GateName;

/// A component is no policy of this line.
#[derive(Debug, thiserror::Error)]
#[error("the component does not export the lifecycle of a policy")]
pub struct ProbeError(#[source] pub wasmtime::Error);

/// Why settings or packs were refused by the policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at `{place}`", message.escape_debug())]
pub struct ConfigureError {
    /// JSON pointer into the settings, or `pack:NAME` and a pointer; empty for the whole.
    pub place: String,
    /// The policy's own words.
    pub message: String,
}

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The guest trapped, was stopped, or answered bytes that are no value of the contract.
    #[error("the guest could not be called")]
    Guest(#[source] wasmtime::Error),
    /// The answer is a value of the contract and yet does not follow it.
    #[error("the answer is malformed")]
    Malformed(#[source] Malformed),
    /// The component does not export the gate.
    #[error("the component does not export the {0} gate")]
    NotExported(GateName),
}

impl From<wasmtime::Error> for CallError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

impl From<Malformed> for CallError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// What about an answer does not follow the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A name is no name.
    #[error("{place} is no valid name")]
    Name {
        /// Where it stands in the answer.
        place: &'static str,
        /// What is wrong with it.
        #[source]
        source: portcullis_model::IdError,
    },
    /// A span leaves the subject or cuts a character.
    #[error("{place} has a span that does not fit the subject")]
    Span {
        /// Where it stands in the answer.
        place: &'static str,
    },
    /// An index of a segment leaves the subject.
    #[error("{place} names a segment that the subject does not have")]
    Segment {
        /// Where it stands in the answer.
        place: &'static str,
    },
    /// It asks without a question.
    #[error("it asks without a question")]
    NoQuestion,
    /// `extensions` is no JSON object.
    #[error("the extensions are no JSON object")]
    Extensions,
    /// `extensions` is no JSON at all.
    #[error("the extensions are no JSON")]
    ExtensionsText(#[source] portcullis_model::json::ParseError),
    /// There is not one verdict for each item.
    #[error("there are {verdicts} verdicts for {items} items")]
    Count {
        /// Verdicts in the answer.
        verdicts: usize,
        /// Items in the subject.
        items: usize,
    },
}

/// The bytes that are kept of a text for people, as the contract says.
const LONGEST_TEXT: usize = 1024;

/// Cuts a text for people to what is kept of it, at a character boundary.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    }
    text
}

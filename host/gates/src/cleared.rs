//! The proof that a value passed its gate.

use std::sync::Arc;

use portcullis_model::{Digest, GateName};

/// A value that passed its gate. Effects take this and nothing else.
///
/// Only this crate builds one; it gives no `&mut` and cannot be taken apart. What leaves afterwards is written from
/// [`Cleared::get`] by an envelope that may change ids, tokens, names, cursors and era fields, nothing else.
#[derive(Debug)]
pub struct Cleared<T> {
    value: T,
    receipt: Receipt,
}

impl<T> Cleared<T> {
    pub(crate) fn new(value: T, receipt: Receipt) -> Self {
        Self { value, receipt }
    }

    /// Returns the value, for the effect to read.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// Returns which set of policies let it pass.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }
}

/// Which set of policies let a value pass, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The gate.
    pub gate: GateName,
    /// Generation of the policy set.
    pub generation: u64,
    /// Digests of the policies that judged it.
    pub policies: Arc<[Digest]>,
    /// How often the chain ran; 0 for an empty chain.
    pub rounds: u32,
    /// True where an edit was applied.
    pub edited: bool,
}

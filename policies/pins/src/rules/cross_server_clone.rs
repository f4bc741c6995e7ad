//! # cross-server-clone
//!
//! **What it does.** Notes an item whose definition is, to the last character, that of another server.
//!
//! **Why.** A server that offers the very tool of another may be there to be taken for it: the model cannot tell them apart and may give the clone
//! what is meant for the original. Two entries of one server look the same, so this is recorded and not asked about.
//!
//! **Example.** `notes` lists `send_message` with the definition that `chat` lists.

use portcullis_sdk::listing_gate::{Batch, Item};
use portcullis_sdk::{Finding, Rule, Severity, Verdict};

const ID: &str = "cross-server-clone";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::Low, "An item is the same as one of another server.")
}

pub(crate) fn judge(batch: &Batch, item: &Item) -> Verdict {
    let same = batch.catalogue.iter().find(|entry| {
        entry.digest == item.digest && entry.kind == item.kind && entry.server != batch.server && !item.name.is_empty()
    });
    match same {
        Some(entry) => {
            let message = ["it is the same as `", &entry.name, "` of `", &entry.server, "`"].concat();
            Verdict::allow().with_finding(Finding::new(ID, Severity::Low, message))
        }
        None => Verdict::allow(),
    }
}

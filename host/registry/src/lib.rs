//! What is published, under which names, and what is not, with its reason.
//!
//! A server's list passes the [`Filter`], then the listing gate, and becomes an [`Offer`]. All offers together become a
//! [`Catalogue`]: an immutable snapshot that is built anew at each change. Only [`portcullis_gates::Cleared`] items can be
//! offered, so nothing is published that did not pass its gate.

#![forbid(unsafe_code)]

mod catalogue;
mod changes;
mod filter;
mod names;
mod offer;
mod provider_schema;
mod published;
mod templates;
mod utility;

pub use catalogue::{Catalogue, Instructions};
pub use changes::Changes;
pub use filter::{Filter, Unmatched};
pub use names::LONGEST_NAME;
pub use offer::{Advertised, Offer};
pub use provider_schema::{provider_schema, provider_tool};
pub use published::{Published, Reason, Unpublished};
pub use utility::{Utility, UtilityTool};

//! The official conformance suite: its installation, our fixture server, runs, and the comparison of two runs.

mod fixture;
mod report;
mod suite;

pub use fixture::Fixture;
pub use report::{Check, Report, Status};
pub use suite::Suite;

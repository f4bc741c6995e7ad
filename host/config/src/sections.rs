//! The parts of a config besides the servers.

pub(crate) mod approvals;
pub(crate) mod control;
pub(crate) mod journal;
pub(crate) mod naming;
pub(crate) mod policies;
pub(crate) mod results;
pub(crate) mod serve;
pub(crate) mod status;

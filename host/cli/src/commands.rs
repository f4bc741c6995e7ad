//! The commands, one a file.

#[cfg(unix)]
pub(crate) mod approvals;
#[cfg(unix)]
pub(crate) mod approve;
pub(crate) mod check;
pub(crate) mod client;
#[cfg(unix)]
pub(crate) mod control;
pub(crate) mod demo;
pub(crate) mod grants;
pub(crate) mod http;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod policy;
pub(crate) mod replay;
pub(crate) mod serve;
#[cfg(unix)]
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod warm;

//! The commands, one a file.

pub(crate) mod add;
#[cfg(unix)]
pub(crate) mod approvals;
#[cfg(unix)]
pub(crate) mod approve;
pub(crate) mod call;
pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod configure;
#[cfg(unix)]
pub(crate) mod control;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain_env;
pub(crate) mod export;
pub(crate) mod grants;
pub(crate) mod http;
pub(crate) mod import;
pub(crate) mod install;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod policy;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod shell;
#[cfg(unix)]
pub(crate) mod status;
pub(crate) mod switch;
pub(crate) mod token;
pub(crate) mod warm;

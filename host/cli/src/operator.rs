//! The operator's surface: running gateways, looked at, and their questions answered, from another terminal.
//!
//! Each gateway listens on a Unix socket of its own in the home: a file that only its owner can open, in a folder that
//! only its owner can enter, and whoever connects must be the same user. Commands find the gateways by listing the
//! folder. A message is one line of JSON; lengths, counts and waits are bounded on both sides.
//!
//! | request | answer |
//! | --- | --- |
//! | `{"do":"list"}` | a line `{"pending":…}` for each question, then `{"end":true}` |
//! | `{"do":"watch"}` | the same, at once and again after each change, until the connection ends |
//! | `{"do":"answer","id":…,"allow":…,"for":…,"constrain":…,"passphrase":…}` | `{"done":"released"}` or `{"done":"kept"}` |
//! | `{"do":"answer-as-client","id":…,"allow":…,"for":…,"client":…}` | the same: an assistant's answer, worth what a client's is |
//! | `{"do":"status"}` | lines `{"gateway":…}`, `{"fleet":…}`, `{"session":…}`, `{"policy":…}`, `{"server":…}`, then `{"end":true}` |
//! | `{"do":"look"}` | `{"done":"looks"}`: at the config, and at whether servers are stopped |
//! | `{"do":"rejudge"}` | `{"done":"rejudged"}` |
//! | `{"do":"expect","code":…}` | `{"consent":…}` once a browser shows the code to this gateway's front door |
//! | `{"do":"consent","code":…,"allow":…,"passphrase":…}` | `{"done":"allowed"}` or `{"done":"refused"}` |
//! | `{"do":"consents"}` | `{"consents":[…]}`: the clients that hold tokens |
//! | `{"do":"revoke","names":[…]}` | `{"ended":…}`: how many of those ended |
//! | `{"do":"policies"}` | `{"policies":…,"pipelines":…}`: what judges, and what policies went through lately |
//! | `{"do":"promote","policy":…,"passphrase":…}`, `rollback` | `{"done":"moved","from":…,"to":…,"took_us":…}` |
//!
//! Anything that fails is answered by `{"error":CODE,"message":…}`.

mod connection;
mod door;
mod gateways;
mod kinship;
mod line;
mod message;
mod passphrase;
mod policies;
mod proof;
mod serve;
mod status;

pub(crate) use connection::{AnswerRequest, Connection, ConnectionError};
pub(crate) use gateways::{Gateways, remove as forget};
pub(crate) use message::{Shown, shown_to_value};

pub(crate) use passphrase::Passphrase;
pub(crate) use serve::Surface;
pub(crate) use status::Watched;

/// What is told of where a gateway serves that serves the one who started it.
pub(crate) const STANDARD_STREAMS: &str = "standard streams";

/// The folder in the home that holds the sockets.
const FOLDER: &str = "approvals";

/// A request fits in so many bytes: the largest has a constraint of a few kilobytes.
const LONGEST_REQUEST: usize = 256 * 1024;

/// An answer fits in so many bytes: a question shows 4 KiB of arguments, escaped, and as much of each policy's words.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// A line is written and read within so long, or the connection ends. Deriving a key from a passphrase is part of it.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

#[cfg(test)]
mod tests;

//! Arguments of `portcullis approvals` and `portcullis grants`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use portcullis_gates::Scope;

use super::{Format, Report};

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Approvals {
    /// Shows what is asked at the moment by all gateways of the home
    List(Format),
    /// Shows one question: the full arguments, the definition, and what every policy asks
    Show(ShowApproval),
    /// Says yes: a call that waits goes on, a server starts, a tool is published, a result is released
    Allow(Allow),
    /// Says no
    Deny(Deny),
    /// Tells of every question while it runs; calls wait for an answer as long as somebody watches
    Watch(Format),
    /// Sets a passphrase that every yes needs, for gateways that start from now on
    Passphrase(Passphrase),
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct ShowApproval {
    /// Name of the question, as `portcullis approvals list` shows it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Allow {
    /// Names of questions
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// For how long [default: once for calls and results, always for servers and what they list]
    #[arg(long = "for", value_enum, value_name = "TIME")]
    pub(crate) holds: Option<Holds>,
    /// Only where the arguments fit: `/pointer=value`, several for one of them, or `/pointer^=/path` for a path below
    #[arg(long, value_name = "POINTER=VALUE")]
    pub(crate) constrain: Vec<String>,
    /// File with the passphrase on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Deny {
    /// Names of questions
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Passphrase {
    /// File with the passphrase on its first line, `-` for standard input; asked for on the terminal else
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Removes it
    #[arg(long, conflicts_with = "file")]
    pub(crate) remove: bool,
}

/// For how long an approval holds, as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Holds {
    Once,
    Session,
    Always,
}

impl From<Holds> for Scope {
    fn from(holds: Holds) -> Self {
        match holds {
            Holds::Once => Self::Once,
            Holds::Session => Self::Session,
            Holds::Always => Self::Always,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Grants {
    /// Shows what is approved or refused until when, for which arguments, and who said so
    List(Report),
    /// Takes grants back; running gateways ask again from the next call on
    Revoke(Revoke),
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Revoke {
    /// Names of grants, as `portcullis grants list` shows them
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) ids: Vec<String>,
    /// Takes all back
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) report: Report,
}

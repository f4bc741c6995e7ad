//! The command line of logins at servers: `login`, `reauth`, `logout`.

use clap::Args;

use super::{ConfigFile, Format};

/// How the operator consents.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Way {
    /// Opens no browser: the page is printed, and the address that the browser ends at is read from standard input
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// By a code that is typed in a browser anywhere, where the server offers that
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) device: bool,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Login {
    /// Name of the server in the config
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) way: Way,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Reauth {
    /// Name of the server in the config
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Every server that is logged in at, one after the other
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) way: Way,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Logout {
    /// Name of the server in the config
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
}

//! Arguments of the commands that tell of this program and its surroundings.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Man {
    /// Folder that gets a page for each command; without it, the page of the whole goes to standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}

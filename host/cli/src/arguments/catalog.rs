//! Arguments of the commands around the catalog.

use clap::{Args, Subcommand};

use super::{ConfigFile, Report};

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Catalog {
    /// Shows all servers that can be installed by name: those built in, and those of `catalog.d` in the home
    List(Report),
    /// Shows one of them whole: command, version, variables, tools, what it needs of the machine
    Show(ShowManifest),
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct ShowManifest {
    /// Name in the catalog
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) report: Report,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Install {
    /// Name in the catalog
    pub(crate) name: String,
    /// Name in the config [default: that in the catalog]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) named: Option<String>,
    /// Something that the server has to be told, as NAME=VALUE; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Variable of the server, as NAME=VALUE; NAME alone takes the one of the gateway. May be given several times
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Takes the place of a server of the same name, and keeps its choice of tools
    #[arg(long)]
    pub(crate) replace: bool,
    /// Installs without asking, once the gate has cleared it
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Does not start it to see its tools
    #[arg(long)]
    pub(crate) no_probe: bool,
    #[command(flatten)]
    pub(crate) report: Report,
}

impl Install {
    /// Returns where the config is.
    pub(crate) fn config(&self) -> &ConfigFile {
        &self.report.config
    }
}

//! Arguments of the commands that change and use the servers of the config.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ConfigFile, Format};

#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    override_usage = "portcullis add [OPTIONS] <NAME> -- <CMD>...\n       portcullis add [OPTIONS] <NAME> --url <URL>"
)]
pub(crate) struct Add {
    /// Name of the server: a short word
    pub(crate) name: String,
    /// Endpoint of a server that is reached over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// Way to reach the endpoint
    #[arg(long, value_enum, value_name = "WAY", requires = "url")]
    pub(crate) transport: Option<Transport>,
    /// Variable of the server, as NAME=VALUE; NAME alone takes the one of the gateway. May be given several times
    #[arg(long = "env", value_name = "NAME[=VALUE]", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Header of every request, as `Name: value` or Name=VALUE; may be given several times
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// Folder that the server works in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) cwd: Option<PathBuf>,
    /// Takes the place of a server of the same name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Adds it switched off
    #[arg(long)]
    pub(crate) disabled: bool,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
    /// The command of the server and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true, required_unless_present = "url")]
    pub(crate) command: Vec<String>,
}

/// A way to reach an endpoint, as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Streamable HTTP
    Http,
    /// The HTTP+SSE of 2024-11-05
    Sse,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Named {
    /// Name of the server in the config
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Configure {
    #[command(flatten)]
    pub(crate) server: Named,
    /// Uses only tools with this name or glob; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Uses all tools but those with this name or glob; may be given several times
    #[arg(long, value_name = "GLOB", conflicts_with = "include")]
    pub(crate) exclude: Vec<String>,
    /// Uses all tools again
    #[arg(long, conflicts_with_all = ["include", "exclude"])]
    pub(crate) all: bool,
}

#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    override_usage = "portcullis call [OPTIONS] <SERVER> <TOOL> [KEY=VALUE]...\n       portcullis call [OPTIONS] <SERVER> <TOOL> --arguments <JSON>"
)]
pub(crate) struct Call {
    /// Name of the server in the config
    pub(crate) server: String,
    /// Name of the tool: the server's own, or the published one
    pub(crate) tool: String,
    /// Arguments. A value that is JSON of the type that the tool's schema asks for counts as that, every other one as a text
    #[arg(value_name = "KEY=VALUE", conflicts_with = "arguments")]
    pub(crate) pairs: Vec<String>,
    /// All arguments as one JSON object; `-` reads standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) arguments: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

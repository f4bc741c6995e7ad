//! Arguments of the commands that read and change configs of clients.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, builder::TypedValueParser as _};
use portcullis_config::Client;

use super::{ConfigFile, Format};

/// Reads the name of a client.
fn client() -> impl clap::builder::TypedValueParser<Value = Client> {
    let names = PossibleValuesParser::new(Client::ALL.map(Client::as_str));
    // The parser before lets nothing else through.
    names.map(|name| Client::parse(&name).unwrap_or(Client::ClaudeCode))
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Import {
    /// Client whose configs are read, or a file, or CLIENT=FILE where the file's name does not tell whose it is; may be given
    /// several times [default: all that are there]
    #[arg(long, value_name = "CLIENT|FILE")]
    pub(crate) from: Vec<String>,
    /// Shows what would change and writes nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Writes what the gate allows without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Brings the config back as it was before the last import
    #[arg(long, conflicts_with_all = ["from", "dry_run", "yes"])]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Export {
    /// The client
    #[arg(long, value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Client,
    /// Its config file [default: the user's own]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Shows what would change and writes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Brings the client's config back as it was before the last export
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

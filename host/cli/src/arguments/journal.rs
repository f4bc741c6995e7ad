//! The command line of `portcullis journal`.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::{Args, Subcommand, ValueEnum};
use portcullis_store::Query;

use super::{ConfigFile, Format, Gate};
use crate::moment;

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Journal {
    /// Shows the latest passages, the newest last
    Tail(Tail),
    /// Shows all that is recorded of one passage
    Show(ShowEntry),
    /// Shows the passages that fit, the newest first
    Query(QueryEntries),
    /// Writes the passages that fit to standard output, the oldest first, one a line
    Export(Export),
    /// Checks that no record was changed, removed, moved or cut off
    Verify(Verify),
    /// Prints how far each chain of records goes, signed, one a line: to be kept on another machine
    Heads(ConfigFile),
}

/// Which passages are wanted, whatever was said of them.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct Passages {
    /// Those since then: `30m`, `12h`, `7d`, or `2026-01-31T08:00:00Z`
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    pub(crate) since: Option<SystemTime>,
    /// Those of this gate
    #[arg(long, value_enum)]
    pub(crate) gate: Option<Gate>,
    /// Those of this server
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Those of what has this name, in the server's own words
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Those that ended in this way
    #[arg(long, value_enum)]
    pub(crate) decision: Option<Ending>,
}

/// Which passages are wanted.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct Filters {
    #[command(flatten)]
    pub(crate) passages: Passages,
    /// Those in which this policy objected, broke or noticed something
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Those in which a policy noticed something by this rule, or objected with this code
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Option<String>,
}

/// How a passage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ending {
    Cleared,
    Edited,
    Approved,
    Refused,
    Quarantined,
    Revoked,
    Compared,
}

impl Filters {
    /// Returns the query for so many passages.
    pub(crate) fn query(&self, limit: usize) -> Query {
        Query { policy: self.policy.clone(), rule: self.rule.clone(), ..self.passages.query(limit) }
    }
}

impl Passages {
    /// Returns the query for so many passages.
    pub(crate) fn query(&self, limit: usize) -> Query {
        let word = |ending| match ending {
            Ending::Cleared => "cleared",
            Ending::Edited => "edited",
            Ending::Approved => "approved",
            Ending::Refused => "refused",
            Ending::Quarantined => "quarantined",
            Ending::Revoked => "revoked",
            Ending::Compared => "compared",
        };
        Query {
            limit,
            since: self.since,
            gate: self.gate.map(Into::into),
            server: self.server.clone(),
            name: self.tool.clone(),
            outcome: self.decision.map(|ending| word(ending).to_owned()),
            ..Query::default()
        }
    }
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Tail {
    /// So many
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    pub(crate) lines: usize,
    /// Goes on with what is recorded from now on, until it is ended
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    /// Prints one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct ShowEntry {
    /// Its number
    pub(crate) id: i64,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct QueryEntries {
    #[command(flatten)]
    pub(crate) filters: Filters,
    /// So many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) filters: Filters,
    /// `jsonl`: what is recorded; `ocsf`: API Activity events of the Open Cybersecurity Schema Framework
    #[arg(long = "as", value_enum, default_value = "jsonl")]
    pub(crate) form: ExportForm,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
}

/// What an export consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    Jsonl,
    Ocsf,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Verify {
    /// File with heads that were printed before, to check the chains against
    #[arg(long, value_name = "FILE")]
    pub(crate) heads: Option<PathBuf>,
    /// Public key that must have signed them [default: the one of this installation]
    #[arg(long, value_name = "HEX", requires = "heads")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Replay {
    /// Name of a policy of the bundle, or path of a component, in place of the policy that has its name; without it, all
    /// policies as the config has them now
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    /// Settings of that policy, as a YAML or JSON file
    #[arg(long, value_name = "FILE", requires = "policy")]
    pub(crate) settings: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) passages: Passages,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Explain {
    /// Number of the passage, as `portcullis journal` shows it
    pub(crate) id: i64,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

//! Arguments of `portcullis policy eval`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use portcullis_model::json::Value;

use super::Format;

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyEval {
    /// Files of cases, one JSON object a line; the formats are described in policies/README.md
    #[arg(value_name = "CORPUS", required = true)]
    pub(crate) corpora: Vec<PathBuf>,
    /// Name of a policy of the bundle, or path of a component; may be given several times [default: the whole bundle]
    #[arg(long = "policy", value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// Settings of one of the policies, as a YAML or JSON file; may be given several times
    #[arg(long = "settings", value_name = "POLICY=FILE", value_parser = setting)]
    pub(crate) settings: Vec<(String, PathBuf)>,
    /// Who is there to be asked; whoever it is says yes, once
    #[arg(long, value_enum, default_value = "operator")]
    pub(crate) approver: Asked,
    /// What cases are counted by
    #[arg(long, value_enum, default_value = "group")]
    pub(crate) by: By,
    /// Writes the cases that went wrong, one JSON object a line: what was missed, and what was found fault with wrongly
    #[arg(long, value_name = "FILE")]
    pub(crate) misses: Option<PathBuf>,
    /// Shares of cases that are to be reached or not exceeded, as a YAML file; the format is described in policies/README.md
    #[arg(long, value_name = "FILE")]
    pub(crate) goals: Option<PathBuf>,
    /// Judges one part of the cases, such as 1/2 or 2/2: those whose `id` falls into it by its digest
    #[arg(long, value_name = "K/N")]
    pub(crate) part: Option<Part>,
    #[command(flatten)]
    pub(crate) format: Format,
}

fn setting(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((policy, file)) if !policy.is_empty() && !file.is_empty() => Ok((policy.to_owned(), file.into())),
        Some(_) | None => Err("write it as POLICY=FILE".to_owned()),
    }
}

/// Who can be asked while cases are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asked {
    Operator,
    Client,
    Nobody,
}

/// What cases are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Group,
    Kind,
}

/// One of several parts of all cases: the `which`th, from one, `of` so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    which: u64,
    of: u64,
}

impl Part {
    /// Returns true for rows of this part: by the digest of `id`, or of the whole row where it has none, so that a case is
    /// always in the same one.
    pub(crate) fn holds(self, row: &Value) -> bool {
        let digest = row.get("id").unwrap_or(row).digest();
        let number = digest.as_bytes().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        number % self.of == self.which - 1
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(which, of)| Some((which.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((which, of)) if (1..=of).contains(&which) => Ok(Self { which, of }),
            Some(_) | None => Err("write it as K/N, such as 1/2 for the first half".to_owned()),
        }
    }
}

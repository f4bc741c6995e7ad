//! Arguments of the commands for projects of policies.

use std::path::PathBuf;

use clap::Args;
use portcullis_model::Day;
use portcullis_templates::Language;

use super::{Format, Gate};

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyNew {
    /// Name of the policy, which is the name of the folder too: lowercase words joined by hyphens
    #[arg(required_unless_present = "example")]
    pub(crate) name: Option<String>,
    /// Language: rust, js, python or c
    #[arg(long = "lang", value_name = "LANGUAGE", value_parser = language)]
    pub(crate) language: Language,
    /// Gates where it judges, separated by commas
    #[arg(long = "gate", value_name = "GATE", value_enum, value_delimiter = ',', required_unless_present = "example")]
    pub(crate) gates: Vec<Gate>,
    /// Begins with the example that is there in every language: no writing outside of working folders
    #[arg(long, conflicts_with_all = ["name", "gates"])]
    pub(crate) example: bool,
}

fn language(text: &str) -> Result<Language, String> {
    Language::parse(text).map_err(|error| error.to_string())
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyBuild {
    /// Folder of the policy
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Folder that tool chains of JavaScript and Python are installed into [default: tools in the home folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyTest {
    /// Folder of the policy, with what `policy build` made in it
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Component to test, where it is another, or name of a policy of the bundle
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    /// Writes the verdicts to verdicts.txt, which later runs are compared with
    #[arg(long)]
    pub(crate) update: bool,
    /// Fails where a rule that the policy declares is never seen
    #[arg(long)]
    pub(crate) all_rules: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyCheck {
    /// Folder of the policy, with what `policy build` made in it
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Component to check, where it is another, or name of a policy of the bundle
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    /// Fails for warnings too
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyWrap {
    /// Name of a policy of the bundle, or path of a component
    pub(crate) policy: String,
    /// Rule that is not to count, as `policy inspect` shows it
    #[arg(long)]
    pub(crate) rule: String,
    /// Server that it is not to count for
    #[arg(long)]
    pub(crate) server: String,
    /// One tool, prompt or resource of the server, by the server's own name for it
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Last day of the exemption, as 2026-01-31
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(crate) until: Day,
    /// Why, for whoever reads it later
    #[arg(long)]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) format: Format,
}

fn day(text: &str) -> Result<Day, String> {
    Day::parse(text).map_err(|error| error.to_string())
}

//! `portcullis warm` and `portcullis policy list`: loads all policies and shows them.

use std::io::{self, Write};
use std::time::Instant;

use portcullis_config::Config;
use portcullis_model::json::Value;
use portcullis_model::object;

use crate::arguments;
use crate::gateway::open_store;
use crate::policy_report::{self, PolicyLine};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, policies};

/// Loads all policies into the cache. Fails where a required one is missing or a file was refused.
pub(crate) fn warm(settings: &Settings, arguments: &arguments::Report) -> Result<Exit, Failure> {
    let loaded = Loaded { all: false, ..load(settings, arguments)? };
    report::print(&loaded, arguments.format)?;
    let sound = !loaded.policies.iter().any(|line| matches!(line, PolicyLine::Missing(..) | PolicyLine::Refused(..)));
    Ok(if sound { Exit::Success } else { Exit::Policies })
}

/// Shows the policies that would judge.
pub(crate) fn list(settings: &Settings, arguments: &arguments::Report) -> Result<Exit, Failure> {
    report::print(&load(settings, arguments)?, arguments.format)?;
    Ok(Exit::Success)
}

fn load(settings: &Settings, arguments: &arguments::Report) -> Result<Loaded, Failure> {
    let home = settings.open_home()?;
    // Without a config the bundle is all there is, and that can be warmed too.
    let config = if arguments.config.config.is_none() && !home.config_file().exists() {
        Config::default()
    } else {
        settings.read_config(&arguments.config)?.1
    };
    let store = open_store(&home, &config.journal)?;
    let begin = Instant::now();
    report::progress(report::LOADING, arguments.format);
    let policies = policies::load(&home, &config, &store)?;
    Ok(Loaded { policies: policy_report::lines(&policies), seconds: begin.elapsed().as_secs_f64(), all: true })
}

struct Loaded {
    policies: Vec<PolicyLine>,
    seconds: f64,
    /// True where everything is shown of each policy.
    all: bool,
}

impl Report for Loaded {
    fn to_value(&self) -> Value {
        object! { "policies" => self.policies.iter().map(PolicyLine::to_value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut compiled = 0;
        for policy in &self.policies {
            if self.all {
                policy.write_text(out)?;
            } else if policy.is_remarkable() {
                policy.write_remark(out)?;
            }
            compiled += usize::from(matches!(policy, PolicyLine::Known(status) if !status.cached));
        }
        if self.all {
            return Ok(());
        }
        let known = self.policies.iter().filter(|policy| matches!(policy, PolicyLine::Known(_))).count();
        let policies = if known == 1 { "1 policy".to_owned() } else { format!("{known} policies") };
        writeln!(out, "{policies} ready in {:.1} s, {} compiled", self.seconds, count(compiled, "module"))
    }
}

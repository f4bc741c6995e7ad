//! `portcullis policy inspect`: what a policy says of itself, and what its module shows.

use std::io::{self, Write};
use std::time::SystemTime;

use portcullis_config::Config;
use portcullis_model::json::Value;
use portcullis_model::{Exemption, object};
use portcullis_runtime::{Inspection, Loaded};

use crate::arguments::Inspect;
use crate::failure::{OrExit as _, one_line};
use crate::policy_report::{names, rights};
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

pub(crate) fn run(settings: &Settings, arguments: &Inspect) -> Result<Exit, Failure> {
    let module = super::module(&arguments.policy)?;
    // First, because nothing of the module runs for it.
    let inspection = Inspection::of(&module.wasm).or_exit(Exit::Policies, "inspecting the module")?;
    let (_loader, loaded) = super::load(settings, &module)?;
    // A module can be looked at without any config.
    let config = match settings.read_config(&arguments.config) {
        Ok((_, config)) => config,
        Err(_) if arguments.config.config.is_none() => Config::default(),
        Err(failure) => return Err(failure),
    };
    let exemptions = config
        .policies
        .entry(loaded.description.name.as_str())
        .map(|entry| entry.exemptions.clone())
        .unwrap_or_default();
    report::print(&Inspected { inspection, loaded, exemptions }, arguments.format)?;
    Ok(Exit::Success)
}

struct Inspected {
    inspection: Inspection,
    loaded: Loaded,
    /// What the operator's config exempts from its rules.
    exemptions: Vec<Exemption>,
}

/// Says what of an exemption is left.
fn standing(exemption: &Exemption) -> String {
    let over = if exemption.until.end() <= SystemTime::now() { " (over)" } else { "" };
    format!("{}{over}", one_line(&exemption.to_string()))
}

impl Report for Inspected {
    fn to_value(&self) -> Value {
        let list = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        let about = &self.loaded.description;
        let rules = about.rules.iter().map(|rule| {
            Value::from(object! {
                "id" => rule.id.as_str(),
                "severity" => rule.severity.as_str(),
                "summary" => rule.summary.as_str(),
            })
        });
        let meters = about.meters.iter().map(|meter| {
            let window = u64::from(meter.window_seconds);
            Value::from(object! { "name" => meter.name.as_str(), "window_seconds" => window })
        });
        object! {
            "name" => about.name.as_str(),
            "version" => about.version.as_str(),
            "summary" => about.summary.as_str(),
            "gates" => list(&self.inspection.gates.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "wants" => rights(about.wants).into_iter().map(Value::from).collect::<Vec<_>>(),
            "needs_payload" => about.needs_payload,
            "rules" => rules.collect::<Vec<_>>(),
            "labels" => list(&about.labels),
            "meters" => meters.collect::<Vec<_>>(),
            "imports" => list(&self.inspection.imports),
            "capabilities" => list(&self.inspection.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "exemptions" => list(&self.exemptions.iter().map(standing).collect::<Vec<_>>()),
            "bytes" => self.inspection.size as u64,
            "module" => self.inspection.digest.to_string(),
            "start" => self.loaded.start.to_string(),
            "cached" => self.loaded.cached,
            "loaded_in_us" => u64::try_from(self.loaded.took.as_micros()).unwrap_or(u64::MAX),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let about = &self.loaded.description;
        writeln!(out, "{} {}: {}", about.name, one_line(&about.version), one_line(&about.summary))?;
        writeln!(out, "gates    {}", names(&self.inspection.gates))?;
        writeln!(out, "wants    {}", rights(about.wants).join(", "))?;
        writeln!(out, "imports  {}", one_line(&self.inspection.imports.join(", ")))?;
        if !about.labels.is_empty() {
            writeln!(out, "labels   {}", one_line(&about.labels.join(", ")))?;
        }
        for meter in &about.meters {
            writeln!(out, "meter    {} ({} s)", one_line(&meter.name), meter.window_seconds)?;
        }
        writeln!(out, "module   {} KiB, {}", self.inspection.size / 1_024, self.inspection.digest)?;
        let cached = if self.loaded.cached { "from the cache" } else { "compiled" };
        let milliseconds = self.loaded.took.as_secs_f64() * 1_000.0;
        writeln!(out, "start    {}, {cached}, loaded in {milliseconds:.1} ms", self.loaded.start)?;
        for rule in &about.rules {
            writeln!(out, "rule     {} ({}): {}", rule.id, rule.severity.as_str(), one_line(&rule.summary))?;
        }
        for exemption in &self.exemptions {
            writeln!(out, "exempt   {}", standing(exemption))?;
        }
        Ok(())
    }
}

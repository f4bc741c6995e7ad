//! `portcullis policy wrap`: the lines of a config that exempt one server from one rule of a policy.
//!
//! It writes no file: what loosens stands in the operator's config alone, and the operator puts it there.

use std::io::{self, Write};
use std::time::SystemTime;

use portcullis_model::json::{Object, Value};
use portcullis_model::{Exemption, PolicyName, RuleId, ServerName, object};

use crate::arguments::PolicyWrap;
use crate::failure::OrExit as _;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Checks an exemption against the policy, and prints the lines.
pub(crate) fn run(settings: &Settings, arguments: &PolicyWrap) -> Result<Exit, Failure> {
    let module = super::module(&arguments.policy)?;
    let (_loader, loaded) = super::load(settings, &module)?;
    let rule = RuleId::parse(&arguments.rule).or_exit(Exit::Usage, "reading the rule")?;
    let about = &loaded.description;
    if !about.rules.iter().any(|known| known.id == rule) {
        let known: Vec<_> = about.rules.iter().map(|rule| rule.id.as_str()).collect();
        let failure = Failure::new(Exit::Usage, format!("`{}` has no rule `{rule}`", about.name));
        return Err(failure.hint(format!("its rules: {}", known.join(", "))));
    }
    if arguments.until.end() <= SystemTime::now() {
        return Err(Failure::new(Exit::Usage, format!("{} is over: nothing would be exempted", arguments.until)));
    }
    let reason = arguments.reason.trim();
    if reason.is_empty() {
        return Err(Failure::new(Exit::Usage, "an exemption needs a reason"));
    }
    let exemption = Exemption {
        rule,
        server: ServerName::parse(&arguments.server).or_exit(Exit::Usage, "reading the name of the server")?,
        tool: arguments.tool.clone(),
        until: arguments.until,
        reason: reason.to_owned(),
    };
    report::print(&Lines { policy: about.name.clone(), exemption }, arguments.format)?;
    Ok(Exit::Success)
}

struct Lines {
    policy: PolicyName,
    exemption: Exemption,
}

impl Lines {
    /// Returns the exemption as the config has it.
    fn entry(&self) -> Object {
        let mut entry = object! {
            "rule" => self.exemption.rule.as_str(),
            "server" => self.exemption.server.as_str(),
        };
        if let Some(tool) = &self.exemption.tool {
            entry.insert("tool", tool.as_str());
        }
        entry.insert("until", self.exemption.until.to_string());
        entry.insert("reason", self.exemption.reason.as_str());
        entry
    }
}

impl Report for Lines {
    fn to_value(&self) -> Value {
        let exempt = object! { "exempt" => vec![Value::from(self.entry())] };
        object! { "policies" => object! { self.policy.as_str() => exempt } }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "policies:")?;
        writeln!(out, "  {}:", self.policy)?;
        writeln!(out, "    exempt:")?;
        // JSON is YAML, so that no text has to be quoted in another way.
        writeln!(out, "      - {}", Value::from(self.entry()).to_json())
    }
}

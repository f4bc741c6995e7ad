//! `portcullis policy run`: what a policy makes of one document.

use std::io::{self, Write};

use portcullis_model::json::Value;
use portcullis_model::object;

use crate::arguments::PolicyRun;
use crate::failure::one_line;
use crate::gateway::runtime;
use crate::probe::{Passed, Probe};
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure, passages};

/// Lets the policy judge, behind a gate that has nothing else. A denial is an answer; only a policy that broke fails.
pub(crate) fn run(settings: &Settings, arguments: &PolicyRun) -> Result<Exit, Failure> {
    let (_loader, loaded, passing) = super::prepare(settings, &arguments.subject)?;
    let probe = Probe::new(&loaded)?;
    let passed = runtime()?.block_on(probe.pass(&passing))?;
    report::print(&passed, arguments.format)?;
    Ok(if passed.records.iter().any(passages::is_broken) { Exit::Failed } else { Exit::Success })
}

impl Report for Passed {
    fn to_value(&self) -> Value {
        let gates: Vec<_> = self.records.iter().map(|record| passages::to_value(&passages::entry(record))).collect();
        let mut object = object! { "cleared" => self.outcome.is_ok() };
        match &self.outcome {
            Ok(document) => object.insert("document", document.clone()),
            Err(why) => object.insert("refused", why.as_str()),
        };
        object.insert("gates", gates);
        object.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let entries: Vec<_> = self.records.iter().map(passages::entry).collect();
        passages::write_text(&entries, out)?;
        match &self.outcome {
            Ok(document) => writeln!(out, "cleared\n{}", one_line(&document.to_json())),
            Err(why) => writeln!(out, "refused: {}", one_line(why)),
        }
    }
}

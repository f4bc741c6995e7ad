//! `portcullis policy bench`: how long a policy takes for one document, alone or beside another module.

mod load;
mod measure;
mod table;

use std::time::Duration;

use crate::arguments::PolicyBench;
use crate::gateway::runtime;
use crate::probe::Probe;
use crate::report;
use crate::settings::Settings;
use crate::{Exit, Failure};
use load::Loads;
use measure::{Measured, captured, measure, rate};
use table::Table;

/// Lets the document pass over and over for so many seconds, then evaluates what it became on one and on two cores.
pub(crate) fn run(settings: &Settings, arguments: &PolicyBench) -> Result<Exit, Failure> {
    let policy = one(settings, arguments, &arguments.subject.policy)?;
    let baseline = match &arguments.baseline {
        Some(baseline) => Some(one(settings, arguments, baseline)?),
        None => None,
    };
    let sound = std::iter::once(&policy).chain(&baseline).all(|measured| measured.broken == 0);
    report::print(&Table { policy, baseline }, arguments.format)?;
    Ok(if sound { Exit::Success } else { Exit::Failed })
}

/// Measures one module.
fn one(settings: &Settings, arguments: &PolicyBench, module: &str) -> Result<Measured, Failure> {
    let subject = crate::arguments::Subject { policy: module.to_owned(), ..arguments.subject.clone() };
    let loads = Loads::of(&subject)?;
    let (_loader, loaded, passing) = super::prepare(settings, &subject)?;
    let probe = Probe::new(&loaded)?;
    let wanted = Duration::from_secs(arguments.seconds);
    let runtime = runtime()?;
    let mut measured = runtime.block_on(measure(&probe, &passing, wanted))?;
    let (evaluator, facts, judged) = runtime.block_on(captured(&loaded, &passing))?;
    measured.one_core = rate(&evaluator, &facts, &judged, 1, wanted);
    measured.two_cores = rate(&evaluator, &facts, &judged, 2, wanted);
    measured.name = loaded.description.name.to_string();
    measured.loads = loads;
    Ok(measured)
}

//! `portcullis policy eval`: what policies find on files of labelled cases, and what they find fault with wrongly.

mod approver;
mod case;
mod examine;
mod goals;
mod level;
mod table;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use portcullis_gates::PolicySet;
use portcullis_model::json::{Value, parse};
use portcullis_runtime::Budget;

use crate::arguments::PolicyEval;
use crate::failure::OrExit as _;
use crate::gateway::runtime;
use crate::probe::active;
use crate::settings::Settings;
use crate::{Exit, Failure, policies, report};
use case::Case;
use examine::Examiner;
use goals::Goals;
use table::{Evaluation, Table};

/// A line is read up to this size, which is what a message may have (16 MiB), in both forms of a drifted definition.
const LONGEST_LINE: u64 = 32 * 1024 * 1024;

/// Judges every case of the files. Fails where a policy broke or a goal is missed.
pub(crate) fn run(settings: &Settings, arguments: &PolicyEval) -> Result<Exit, Failure> {
    let mut goals = arguments.goals.as_deref().map(read_goals).transpose()?.unwrap_or_default();
    let set = policy_set(settings, arguments)?;
    let examiner = Examiner::new(set, arguments.approver);
    let mut misses = arguments.misses.as_deref().map(create).transpose()?;
    let runtime = runtime()?;
    let mut tables = Vec::new();
    for path in &arguments.corpora {
        report::progress(&format!("judging the cases of {}", path.display()), arguments.format);
        let judging = judge_file(&examiner, path, arguments, &mut goals, misses.as_mut());
        tables.push(runtime.block_on(judging)?);
    }
    if let Some((path, file)) = &mut misses {
        file.flush().or_exit(Exit::Usage, format!("writing {path}"))?;
    }
    let evaluation = Evaluation { tables, goals };
    report::print(&evaluation, arguments.format)?;
    let failed = evaluation.tables.iter().any(Table::broke) || evaluation.goals.any_missed();
    Ok(if failed { Exit::Failed } else { Exit::Success })
}

fn read_goals(path: &Path) -> Result<Goals, Failure> {
    let document = super::read_yaml(path, "goals")?;
    Goals::read(&document).or_exit(Exit::Usage, format!("reading the goals {}", path.display()))
}

/// Loads the named policies, or the whole bundle.
fn policy_set(settings: &Settings, arguments: &PolicyEval) -> Result<PolicySet, Failure> {
    let names: Vec<String> = if arguments.policies.is_empty() {
        let usual = policies::bundle()?.into_iter().filter(|bundled| !bundled.optional);
        usual.map(|bundled| bundled.name.as_str().to_owned()).collect()
    } else {
        arguments.policies.clone()
    };
    if let Some((unknown, _)) = arguments.settings.iter().find(|(policy, _)| !names.contains(policy)) {
        let message = format!("the settings for `{unknown}` belong to no policy that judges");
        return Err(Failure::new(Exit::Usage, message).hint(format!("it is one of {}", names.join(", "))));
    }
    let loader = policies::loader(&settings.open_home()?)?;
    report::progress(report::LOADING, arguments.format);
    let mut judges = Vec::new();
    for name in &names {
        let mut module = super::module(name)?;
        if let Some((_, path)) = arguments.settings.iter().find(|(policy, _)| policy == name) {
            module.settings = super::read_settings(path)?;
        }
        let policy = loader
            .load(&module.wasm, &module.settings, &module.packs, &Budget::DEFAULT)
            .or_exit(Exit::Policies, format!("loading the policy `{name}`"))?;
        judges.push(Arc::new(active(&policy)));
    }
    Ok(PolicySet::new(judges))
}

type Misses = (String, BufWriter<File>);

fn create(path: &Path) -> Result<Misses, Failure> {
    let file = File::create(path).or_exit(Exit::Usage, format!("creating {}", path.display()))?;
    Ok((path.display().to_string(), BufWriter::new(file)))
}

async fn judge_file(
    examiner: &Examiner,
    path: &Path,
    arguments: &PolicyEval,
    goals: &mut Goals,
    mut misses: Option<&mut Misses>,
) -> Result<Table, Failure> {
    let doing = || format!("reading the cases of {}", path.display());
    let mut file = BufReader::new(File::open(path).or_exit(Exit::Usage, doing())?);
    let mut table = Table::new(path);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let read = io::Read::take(&mut file, LONGEST_LINE).read_until(b'\n', &mut line);
        if read.or_exit(Exit::Usage, doing())? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row = parse(&line).or_exit(Exit::Usage, format!("{}, line {number}", doing()))?;
        if arguments.part.is_some_and(|part| !part.holds(&row)) {
            continue;
        }
        let case = Case::read(&row).or_exit(Exit::Usage, format!("{}, line {number}", doing()))?;
        let outcome = examiner.judge(&case).await;
        if let Some((name, file)) = misses.as_deref_mut()
            && outcome.is_wrong(&case)
        {
            let miss = Value::from(outcome.to_miss(&table.file, number, &row, &case));
            writeln!(file, "{}", miss.to_json()).or_exit(Exit::Usage, format!("writing {name}"))?;
        }
        goals.add(&table.file, &case, &outcome);
        table.add(&case, arguments.by, &outcome);
    }
    Ok(table)
}

#[cfg(test)]
mod tests;

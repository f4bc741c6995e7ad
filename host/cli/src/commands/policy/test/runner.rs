//! Lets a component judge cases.

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::trial::Trial;
use portcullis_gates::{ActivePolicy, Isolation};
use portcullis_model::json::Value;
use portcullis_model::{Answer, RuleId, Subject, Verdict};
use portcullis_runtime::{Budget, Evaluator, Loaded, Loader};

use super::fixtures::Case;
use super::show;
use super::subject;
use crate::commands::policy::Module;
use crate::failure::OrExit as _;
use crate::probe::active;
use crate::{Exit, Failure};

/// One component, configured as each case wants it.
pub(crate) struct Runner<'a> {
    loader: &'a Loader,
    wasm: &'a [u8],
    /// As the settings and packs beside the component configure it.
    pub(crate) loaded: Loaded,
    /// What the last case was judged by. Only one: each keeps instances ready, and a file may state dozens of settings.
    configured: Option<(String, (Arc<ActivePolicy>, Evaluator))>,
}

/// What came of one case.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(super) file: String,
    pub(super) case: String,
    /// What is not as expected, or not as the contract says; nothing where the case holds.
    pub(super) problems: Vec<String>,
    /// The verdict as text.
    pub(super) shown: String,
    /// Rules that findings and edits named.
    pub(super) rules: Vec<RuleId>,
    /// CPU time of the evaluation; nothing where there was none.
    pub(crate) cpu: Option<Duration>,
    /// Linear memory in bytes.
    pub(crate) memory: u64,
}

impl Outcome {
    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.file, self.case)
    }

    /// Returns true where the case holds.
    pub(crate) fn holds(&self) -> bool {
        self.problems.is_empty()
    }
}

impl<'a> Runner<'a> {
    /// Compiles a component and starts it once as it is configured beside its folder.
    pub(crate) fn new(loader: &'a Loader, module: &'a Module) -> Result<Self, Failure> {
        let policy = loader
            .load_unfrozen(&module.wasm, &module.settings, &module.packs, &Budget::DEFAULT)
            .or_exit(Exit::Policies, "loading the policy")?;
        Ok(Self { loader, wasm: &module.wasm, loaded: policy, configured: None })
    }

    /// Returns how many rules the policy declares.
    pub(super) fn declared(&self) -> usize {
        self.loaded.description.rules.len()
    }

    /// Returns the rules that are declared and in no outcome.
    pub(crate) fn unseen(&self, outcomes: &[Outcome]) -> Vec<String> {
        let seen = |rule: &RuleId| outcomes.iter().any(|outcome| outcome.rules.contains(rule));
        let declared = self.loaded.description.rules.iter().map(|rule| &rule.id);
        declared.filter(|rule| !seen(rule)).map(|rule| rule.as_str().to_owned()).collect()
    }

    /// Lets the component judge one case.
    pub(super) fn judge(&mut self, case: &Case) -> Outcome {
        let mut outcome = Outcome {
            file: case.file.clone(),
            case: case.name.clone(),
            problems: Vec::new(),
            shown: String::new(),
            rules: Vec::new(),
            cpu: None,
            memory: 0,
        };
        if let Err(problem) = self.try_judge(case, &mut outcome) {
            outcome.problems.push(problem);
        }
        outcome
    }

    fn try_judge(&mut self, case: &Case, outcome: &mut Outcome) -> Result<(), String> {
        let place = outcome.title();
        let trial = subject::read(&place, case.gate, &case.subject).map_err(|error| error.to_string())?;
        if !self.loaded.gates().contains(&case.gate) {
            return Err(format!("the policy does not judge at the {} gate", case.gate));
        }
        let (policy, evaluator) = self.configured(case)?;
        let evaluation = evaluator.evaluate_here(&case.facts, trial.subject());
        outcome.cpu = Some(evaluation.cost.cpu);
        outcome.memory = evaluation.cost.memory;
        let answer = evaluation.outcome.map_err(|fault| fault.to_string())?;
        outcome.problems = trial.review(policy, &answer);
        outcome.problems.extend(differences(case, &trial, &answer));
        outcome.shown = show::answer(trial.subject(), &answer);
        outcome.rules = rules(&answer);
        Ok(())
    }

    fn configured(&mut self, case: &Case) -> Result<&(Arc<ActivePolicy>, Evaluator), String> {
        let packs = case
            .packs
            .iter()
            .map(|pack| Value::from(vec![pack.name.as_str().into(), pack.version.as_str().into(), pack.data.clone()]));
        let key = Value::from(vec![case.settings.clone(), packs.collect::<Vec<_>>().into()]).to_canonical();
        let kept = self.configured.take().filter(|(known, _)| *known == key);
        let configured = if let Some((_, configured)) = kept {
            configured
        } else {
            let loaded = self.loader.load_unfrozen(self.wasm, &case.settings, &case.packs, &Budget::DEFAULT);
            let loaded = loaded.map_err(|error| chain(&error))?;
            (Arc::new(active(&loaded)), loaded.evaluator(Budget::DEFAULT, Isolation::Fresh))
        };
        Ok(&self.configured.insert((key, configured)).1)
    }
}

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn differences(case: &Case, trial: &Trial, answer: &Answer) -> Vec<String> {
    let count = |found: usize| match case.expect.len() {
        wanted if wanted == found => Vec::new(),
        wanted => vec![format!("{wanted} expectations for {found} verdicts")],
    };
    match (trial.subject(), answer) {
        (Subject::Listing(batch), Answer::Verdicts(verdicts)) => {
            let mut all = count(verdicts.len());
            for ((item, verdict), expected) in batch.items.iter().zip(verdicts).zip(&case.expect) {
                all.extend(expected.differences(&item.segments, verdict));
            }
            all
        }
        (subject, Answer::Verdict(verdict)) => {
            let expected = case.expect.first().map(|expected| expected.differences(show::segments(subject), verdict));
            [count(1), expected.unwrap_or_default()].concat()
        }
        (Subject::Environment(subject), Answer::Selection(selection)) => {
            let offered: Vec<_> = subject.offered.iter().map(|offered| offered.name.clone()).collect();
            let expected = case.expect.first().map(|expected| expected.selection_differences(&offered, selection));
            [count(1), expected.unwrap_or_default()].concat()
        }
        // The review has said that the answer is for another gate.
        (_, Answer::Verdicts(_) | Answer::Selection(_)) => Vec::new(),
    }
}

fn rules(answer: &Answer) -> Vec<RuleId> {
    let of_verdict = |verdict: &Verdict| {
        let findings = verdict.findings.iter().map(|finding| finding.rule.clone());
        findings.chain(verdict.edits.iter().map(|edit| edit.rule().clone())).collect::<Vec<_>>()
    };
    match answer {
        Answer::Verdict(verdict) => of_verdict(verdict),
        Answer::Verdicts(verdicts) => verdicts.iter().flat_map(of_verdict).collect(),
        Answer::Selection(selection) => selection.findings.iter().map(|finding| finding.rule.clone()).collect(),
    }
}

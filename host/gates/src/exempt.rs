//! A site's exemptions, around a policy that somebody else wrote.
//!
//! The wrapper stands between the gates and what judges, so that it needs nothing of the policy but its answers: it works for
//! every policy, gate and line of the contract, and a fault passes it as it is. Composing a component around the module
//! would have to import and export every gate in the policy's place, could not know the time by which an exemption ends,
//! and would change the module that was signed.
//!
//! It lifts no more than was exempted. A denial, or a question, stands as long as a finding of another rule says more than
//! `info`: which of several rules a decision rests on is only known to the policy.

use std::sync::Arc;
use std::time::SystemTime;

use portcullis_model::{
    Answer, Decision, Edit, Exemption, Facts, Finding, RuleId, ServerName, Severity, Subject, Verdict,
};

use crate::{Evaluate, Evaluation, EvaluationFuture};

/// A policy with exemptions around it.
#[derive(Debug)]
pub struct Exempting {
    inner: Arc<dyn Evaluate>,
    exemptions: Vec<Exemption>,
}

impl Exempting {
    /// Puts exemptions around what judges.
    pub fn new(inner: Arc<dyn Evaluate>, exemptions: Vec<Exemption>) -> Self {
        Self { inner, exemptions }
    }

    /// Returns the exemptions that count now for something of a server.
    fn covering(&self, server: &ServerName, name: Option<&str>) -> Vec<&Exemption> {
        let now = SystemTime::now();
        let covers = |exemption: &&Exemption| {
            exemption.server == *server
                && exemption.tool.as_deref().is_none_or(|tool| name == Some(tool))
                && now < exemption.until.end()
        };
        self.exemptions.iter().filter(covers).collect()
    }

    fn lift(&self, answer: Answer, subject: &Subject) -> Answer {
        match (answer, subject) {
            (Answer::Verdict(verdict), subject) => {
                let (server, name) = match subject {
                    Subject::Config(subject) => (&subject.entry.name, None),
                    Subject::Call(call) => (&call.server, Some(call.name.as_str())),
                    Subject::Result(subject) => (&subject.server, Some(subject.name.as_str())),
                    Subject::Request(request) => (&request.server, None),
                    Subject::Listing(_) | Subject::Environment(_) => return Answer::Verdict(verdict),
                };
                Answer::Verdict(lifted(verdict, &self.covering(server, name)))
            }
            (Answer::Verdicts(verdicts), Subject::Listing(batch)) => {
                let each = verdicts.into_iter().enumerate().map(|(index, verdict)| {
                    let name = batch.items.get(index).map(|item| item.name.as_str());
                    lifted(verdict, &self.covering(&batch.server, name))
                });
                Answer::Verdicts(each.collect())
            }
            // What a policy withholds of an environment names no rule.
            (answer, _) => answer,
        }
    }
}

impl Exempting {
    fn lift_outcome(&self, evaluation: Evaluation, subject: &Subject) -> Evaluation {
        let Evaluation { outcome, cost } = evaluation;
        Evaluation { outcome: outcome.map(|answer| self.lift(answer, subject)), cost }
    }
}

impl Evaluate for Exempting {
    fn evaluate<'a>(&'a self, facts: &'a Facts, subject: &'a Subject) -> EvaluationFuture<'a> {
        Box::pin(async move { self.lift_outcome(self.inner.evaluate(facts, subject).await, subject) })
    }

    fn evaluate_shared<'a>(&'a self, facts: &'a Facts, subject: &'a Arc<Subject>) -> EvaluationFuture<'a> {
        Box::pin(async move { self.lift_outcome(self.inner.evaluate_shared(facts, subject).await, subject) })
    }

    fn evaluate_aside<'a>(&'a self, facts: &'a Facts, subject: &'a Arc<Subject>) -> EvaluationFuture<'a> {
        Box::pin(async move { self.lift_outcome(self.inner.evaluate_aside(facts, subject).await, subject) })
    }

    fn is_pure(&self) -> bool {
        self.inner.is_pure()
    }
}

fn lifted(mut verdict: Verdict, exemptions: &[&Exemption]) -> Verdict {
    let exemption = |rule: &RuleId| exemptions.iter().find(|exemption| exemption.rule == *rule).copied();
    let exempt = |rule: &RuleId| exemption(rule).is_some();
    let others = verdict.findings.iter().any(|finding| finding.severity > Severity::Info && !exempt(&finding.rule));
    let noticed = verdict.findings.iter().any(|finding| exempt(&finding.rule));
    // Of what was lifted: rules that no finding names yet.
    let mut lifted: Vec<RuleId> = Vec::new();
    verdict.decision = match verdict.decision {
        Decision::Deny(denial) if !others && (noticed || exempt(&denial.code)) => {
            lifted.push(denial.code);
            Decision::Allow
        }
        Decision::Ask(questions) => {
            let (gone, left): (Vec<_>, Vec<_>) =
                questions.into_iter().partition(|question| exempt(&question.code) || (noticed && !others));
            lifted.extend(gone.into_iter().map(|question| question.code));
            if left.is_empty() { Decision::Allow } else { Decision::Ask(left) }
        }
        decision @ (Decision::Allow | Decision::Deny(_)) => decision,
    };
    let (gone, left): (Vec<_>, Vec<_>) = verdict.edits.into_iter().partition(|edit| exempt(edit.rule()));
    verdict.edits = left;
    lifted.extend(gone.iter().map(Edit::rule).cloned());
    for finding in &mut verdict.findings {
        if let Some(exemption) = exemption(&finding.rule) {
            finding.severity = Severity::Info;
            finding.message = [&note(exemption), ": ", &finding.message].concat();
        }
    }
    for rule in lifted {
        if let Some(exemption) = exemption(&rule).filter(|_| !verdict.findings.iter().any(|known| known.rule == rule)) {
            let message = note(exemption);
            verdict.findings.push(Finding { rule, severity: Severity::Info, message, evidence: Vec::new() });
        }
    }
    verdict
}

fn note(exemption: &Exemption) -> String {
    format!("exempted by the operator until {} ({})", exemption.until, exemption.reason)
}

#[cfg(test)]
mod tests;

//! What a case expects, held against a verdict. What it does not state is not compared.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::show::edited;
use crate::{ApproverClass, Decision, Edit, Finding, Segment, Selection, Verdict};

/// The expectation of one verdict.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Expectation {
    /// `allow`, `ask` or `deny`.
    decision: Option<String>,
    /// The codes of the denial or of the questions, in order.
    codes: Option<Vec<String>>,
    /// The rules of the findings, sorted, each once.
    rules: Option<Vec<String>>,
    /// `client` or `operator`: the lowest class of the strictest question.
    approver: Option<String>,
    /// Texts after all edits, by the pointer of the segment.
    text: BTreeMap<String, String>,
    /// Pointers of removed members, in order.
    removed: Option<Vec<String>>,
    /// Pointers of fenced segments, in order.
    fenced: Option<Vec<String>>,
    /// Labels, in order.
    labels: Option<Vec<String>>,
    /// Charges as `METER KEY AMOUNT/LIMIT`, in order.
    charges: Option<Vec<String>>,
    /// The extensions.
    extensions: Option<Value>,
    /// Names that the environment gate withholds, sorted.
    withheld: Option<Vec<String>>,
    /// Names that the environment gate keeps, in the order of the offer.
    kept: Option<Vec<String>>,
}

/// Collects the differences of one case.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare<Compared: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        wanted: Option<&Compared>,
        found: &Compared,
    ) {
        if let Some(wanted) = wanted
            && wanted != found
        {
            self.0.push(format!("{what}: expected {wanted:?}, found {found:?}"));
        }
    }
}

impl Expectation {
    /// Returns the differences of a verdict from what is expected.
    pub(super) fn differences(&self, segments: &[Segment], verdict: &Verdict) -> Vec<String> {
        let mut differences = Differences::default();
        let (decision, codes) = decision(&verdict.decision);
        differences.compare("decision", self.decision.as_ref(), &decision.to_owned());
        differences.compare("codes", self.codes.as_ref(), &codes);
        differences.compare("rules", self.rules.as_ref(), &rules(&verdict.findings));
        differences.compare("approver", self.approver.as_ref(), &approver(&verdict.decision).to_owned());
        for (pointer, wanted) in &self.text {
            match segments.iter().position(|segment| !segment.key && segment.pointer == *pointer) {
                Some(index) => {
                    differences.compare(
                        &format!("text at \"{pointer}\""),
                        Some(wanted),
                        &edited(segments, verdict, index),
                    );
                }
                None => differences.0.push(format!("text: the subject has no segment \"{pointer}\"")),
            }
        }
        differences.compare("removed", self.removed.as_ref(), &removed(verdict));
        differences.compare("fenced", self.fenced.as_ref(), &fenced(segments, verdict));
        let labels = verdict.labels.iter().map(|label| label.name.clone()).collect();
        differences.compare("labels", self.labels.as_ref(), &labels);
        let charges = verdict.charges.iter();
        let charges = charges
            .map(|charge| format!("{} {} {}/{}", charge.meter, charge.key, charge.amount, charge.limit))
            .collect();
        differences.compare("charges", self.charges.as_ref(), &charges);
        let extensions = serde_json::from_str(&verdict.extensions).unwrap_or_default();
        differences.compare("extensions", self.extensions.as_ref(), &extensions);
        differences.0
    }

    /// Returns the differences of the answer of the environment gate from what is expected.
    pub(super) fn selection_differences(&self, offered: &[String], selection: &Selection) -> Vec<String> {
        let mut differences = Differences::default();
        differences.compare("rules", self.rules.as_ref(), &rules(&selection.findings));
        let mut withheld = selection.removed.clone();
        withheld.sort();
        differences.compare("withheld", self.withheld.as_ref(), &withheld);
        let kept = offered.iter().filter(|name| !selection.removed.contains(name)).cloned().collect();
        differences.compare("kept", self.kept.as_ref(), &kept);
        differences.0
    }
}

fn decision(decision: &Decision) -> (&'static str, Vec<String>) {
    match decision {
        Decision::Allow => ("allow", Vec::new()),
        Decision::Ask(questions) => ("ask", questions.iter().map(|question| question.code.clone()).collect()),
        Decision::Deny(denial) => ("deny", vec![denial.code.clone()]),
    }
}

fn approver(decision: &Decision) -> &'static str {
    let Decision::Ask(questions) = decision else { return "nobody" };
    match questions.iter().map(|question| question.lowest_approver).max() {
        Some(ApproverClass::Operator) => "operator",
        Some(ApproverClass::Client) => "client",
        None => "nobody",
    }
}

fn rules(findings: &[Finding]) -> Vec<String> {
    let mut rules: Vec<String> = findings.iter().map(|finding| finding.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    rules
}

fn removed(verdict: &Verdict) -> Vec<String> {
    let removal = |edit: &Edit| match edit {
        Edit::Remove(removal) => Some(removal.pointer.clone()),
        Edit::Blank(_) | Edit::Fence(_) => None,
    };
    verdict.edits.iter().filter_map(removal).collect()
}

fn fenced(segments: &[Segment], verdict: &Verdict) -> Vec<String> {
    let fence = |edit: &Edit| match edit {
        Edit::Fence(fence) => segments.get(fence.segment as usize).map(|segment| segment.pointer.clone()),
        Edit::Blank(_) | Edit::Remove(_) => None,
    };
    verdict.edits.iter().filter_map(fence).collect()
}

//! What a case expects, held against a verdict. What it does not state is not compared.

use std::fmt::Debug;

use portcullis_model::json::{Object, Value};
use portcullis_model::{ApproverClass, Decision, Edit, Finding, Replacement, Segment, Selection, Verdict};

use super::fields::{Fields, FixtureError};

/// The expectation of one verdict.
#[derive(Debug, Default)]
pub(super) struct Expectation {
    decision: Option<String>,
    codes: Option<Vec<String>>,
    rules: Option<Vec<String>>,
    approver: Option<String>,
    text: Object,
    removed: Option<Vec<String>>,
    fenced: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    charges: Option<Vec<String>>,
    extensions: Option<Value>,
    withheld: Option<Vec<String>>,
    kept: Option<Vec<String>>,
}

/// Collects what differs.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare<T: PartialEq + Debug>(&mut self, what: &str, wanted: Option<&T>, found: &T) {
        if let Some(wanted) = wanted
            && wanted != found
        {
            self.0.push(format!("{what}: expected {wanted:?}, found {found:?}"));
        }
    }
}

impl Expectation {
    pub(super) fn read(place: &str, stated: &Value) -> Result<Self, FixtureError> {
        let mut fields = Fields::of(&format!("{place}, expect"), stated)?;
        let expectation = Self {
            decision: fields.text("decision")?,
            codes: fields.texts("codes")?,
            rules: fields.texts("rules")?,
            approver: fields.text("approver")?,
            text: fields.map("text")?.unwrap_or_default(),
            removed: fields.texts("removed")?,
            fenced: fields.texts("fenced")?,
            labels: fields.texts("labels")?,
            charges: fields.texts("charges")?,
            extensions: fields.value("extensions"),
            withheld: fields.texts("withheld")?,
            kept: fields.texts("kept")?,
        };
        fields.end()?;
        Ok(expectation)
    }

    /// Returns what of a verdict is not as expected.
    pub(super) fn differences(&self, segments: &[Segment], verdict: &Verdict) -> Vec<String> {
        let mut differences = Differences::default();
        let (decision, codes, approver) = decided(&verdict.decision);
        differences.compare("decision", self.decision.as_ref(), &decision.to_owned());
        differences.compare("codes", self.codes.as_ref(), &codes);
        differences.compare("rules", self.rules.as_ref(), &rules(&verdict.findings));
        differences.compare("approver", self.approver.as_ref(), &approver.to_owned());
        for (pointer, wanted) in self.text.iter() {
            let index = segments.iter().position(|segment| !segment.key && segment.pointer == pointer);
            let Some(index) = index else {
                differences.0.push(format!("text: the subject has no segment \"{pointer}\""));
                continue;
            };
            let found = Value::from(edited(segments, verdict, index));
            differences.compare(&format!("text at \"{pointer}\""), Some(wanted), &found);
        }
        let pointer = |index: u32| segments.get(index as usize).map(|segment| segment.pointer.clone());
        let (mut removed, mut fenced) = (Vec::new(), Vec::new());
        for edit in &verdict.edits {
            match edit {
                Edit::Remove { pointer, .. } => removed.push(pointer.clone()),
                Edit::Fence { segment, .. } => fenced.extend(pointer(*segment)),
                Edit::Blank { .. } => {}
            }
        }
        // Edits are a union: their order says nothing.
        differences.compare(
            "removed",
            sorted(self.removed.as_deref()).as_ref(),
            &sorted(Some(&removed)).unwrap_or_default(),
        );
        differences.compare(
            "fenced",
            sorted(self.fenced.as_deref()).as_ref(),
            &sorted(Some(&fenced)).unwrap_or_default(),
        );
        let labels = verdict.labels.iter().map(|label| label.name.clone()).collect();
        differences.compare("labels", self.labels.as_ref(), &labels);
        let charges = verdict.charges.iter();
        let charges = charges
            .map(|charge| format!("{} {} {}/{}", charge.meter, charge.key, charge.amount, charge.limit))
            .collect();
        differences.compare("charges", self.charges.as_ref(), &charges);
        // The order of members says nothing.
        let wanted = self.extensions.as_ref().map(Value::to_canonical);
        let found = Value::from(verdict.extensions.clone()).to_canonical();
        differences.compare("extensions", wanted.as_ref(), &found);
        differences.0
    }

    /// Returns what of the answer of the environment gate is not as expected.
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

fn sorted(texts: Option<&[String]>) -> Option<Vec<String>> {
    texts.map(|texts| {
        let mut sorted = texts.to_vec();
        sorted.sort();
        sorted
    })
}

/// Returns the decision, its codes, and the lowest class that may answer the strictest question.
fn decided(decision: &Decision) -> (&'static str, Vec<String>, &'static str) {
    match decision {
        Decision::Allow => ("allow", Vec::new(), "nobody"),
        Decision::Deny(denial) => ("deny", vec![denial.code.as_str().to_owned()], "nobody"),
        Decision::Ask(questions) => {
            let codes = questions.iter().map(|question| question.code.as_str().to_owned()).collect();
            let strictest = questions.iter().map(|question| question.lowest_approver).max();
            ("ask", codes, strictest.map_or("nobody", ApproverClass::as_str))
        }
    }
}

fn rules(findings: &[Finding]) -> Vec<String> {
    let mut rules: Vec<_> = findings.iter().map(|finding| finding.rule.as_str().to_owned()).collect();
    rules.sort();
    rules.dedup();
    rules
}

/// Returns the text of a segment after all blanks, with `[rule]` in the place of the marker of the host.
fn edited(segments: &[Segment], verdict: &Verdict, index: usize) -> String {
    let text = segments.get(index).map_or("", |segment| segment.text.as_str());
    let mut blanks = Vec::new();
    for edit in &verdict.edits {
        if let Edit::Blank { rule, span, replacement } = edit
            && span.segment as usize == index
        {
            blanks.push((span.start as usize, span.end as usize, rule, *replacement));
        }
    }
    blanks.sort_by_key(|(start, end, ..)| (*start, *end));
    let (mut result, mut kept) = (String::new(), 0);
    for (start, end, rule, replacement) in blanks {
        if start >= kept {
            result.push_str(text.get(kept..start).unwrap_or_default());
            if replacement == Replacement::Marker {
                result.extend(["[", rule.as_str(), "]"]);
            }
        }
        kept = kept.max(end);
    }
    result.push_str(text.get(kept..).unwrap_or_default());
    result
}

//! Whether a verdict follows the contract, and what of it a policy has the right to.
//!
//! What breaks the contract (a span that does not fit, an undeclared name, an empty question list) makes the whole verdict
//! a fault: a policy that is wrong about this may be wrong about the rest. What exceeds its rights is dropped and
//! recorded.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::{
    Charge, Decision, Edit, Finding, Label, LabelFact, Question, Rights, RuleId, Segment, Span, Verdict,
};

use super::verdict::{Heard, Stance};
use crate::display::{LONGEST_TEXT, escaped};
use crate::edits::{Removable, is_identity, may_fence, removable};
use crate::segments::Place;
use crate::session::{Marked, Pending};
use crate::{ActivePolicy, Fault};

/// So many findings of one verdict are kept: an operator reads fewer, and the journal keeps each.
const MOST_FINDINGS: usize = 256;

/// So many questions may stand in one verdict: an approver is to read all of them.
const MOST_QUESTIONS: usize = 16;

/// So many members may one verdict remove: a policy that minds more of them can remove the member that holds them.
const MOST_REMOVALS: usize = 1024;

/// So many charges may stand in one verdict: one each for a few meters and keys.
const MOST_CHARGES: usize = 64;

/// So many labels of one verdict are kept: one each for the texts of a large result. A policy that minds more marks the
/// whole.
const MOST_LABELS: usize = 1024;

/// So many things without right are recorded one by one; the first say enough about the policy.
const MOST_DROPPED: usize = 32;

/// So many bytes may a key of a meter have: it is kept for the length of the window.
const LONGEST_KEY: usize = 256;

/// What a verdict is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) segments: &'a [Segment],
    /// The document that edits would change, and where it stands; nothing at gates without edits.
    pub(crate) editable: Option<(&'a Value, Place)>,
    /// Whom a label names as its source.
    pub(crate) server: &'a str,
    pub(crate) name: &'a str,
}

/// Checks a verdict.
pub(crate) fn check(policy: &Arc<ActivePolicy>, view: View<'_>, verdict: Verdict) -> Heard {
    let mut checking = Checking { policy, view, rights: policy.rights, dropped: Vec::new() };
    match checking.run(verdict) {
        Ok(heard) => heard,
        Err(reason) => {
            let mut heard = Heard::broken(policy, Fault::Malformed(reason));
            heard.dropped = checking.dropped;
            heard
        }
    }
}

/// Checks the findings of an answer that is no verdict.
pub(crate) fn check_findings(
    policy: &ActivePolicy,
    segments: &[Segment],
    findings: Vec<Finding>,
    dropped: &mut Vec<String>,
) -> Result<Vec<Finding>, String> {
    let surplus = findings.len().saturating_sub(MOST_FINDINGS);
    let mut kept = Vec::with_capacity(findings.len().min(MOST_FINDINGS));
    for mut finding in findings {
        declared(policy, &finding.rule)?;
        if finding.evidence.iter().any(|span| !fits(*span, segments)) {
            return Err("the evidence of a finding does not fit the segments".to_owned());
        }
        if kept.len() < MOST_FINDINGS {
            finding.message = escaped(&finding.message, LONGEST_TEXT);
            kept.push(finding);
        }
    }
    if surplus > 0 {
        dropped.push(format!("findings: {surplus} beyond the {MOST_FINDINGS} that are kept"));
    }
    Ok(kept)
}

fn declared(policy: &ActivePolicy, rule: &RuleId) -> Result<(), String> {
    if policy.description.rules.iter().any(|known| known.id == *rule) {
        Ok(())
    } else {
        Err(format!("the rule `{rule}` is not declared"))
    }
}

fn fits(span: Span, segments: &[Segment]) -> bool {
    // Slicing refuses ends before starts, ends beyond the text, and cuts through a character.
    span.text(segments).is_some()
}

struct Checking<'a> {
    policy: &'a Arc<ActivePolicy>,
    view: View<'a>,
    rights: Rights,
    dropped: Vec<String>,
}

impl Checking<'_> {
    fn run(&mut self, verdict: Verdict) -> Result<Heard, String> {
        let Verdict { decision, findings, edits, labels, charges, extensions } = verdict;
        let findings = check_findings(self.policy, self.view.segments, findings, &mut self.dropped)?;
        let stance = self.stance(decision)?;
        let edits = self.edits(edits)?;
        let labels = self.labels(labels)?;
        let charges = self.charges(charges)?;
        let dropped = std::mem::take(&mut self.dropped);
        Ok(Heard { policy: Arc::clone(self.policy), stance, findings, edits, labels, charges, extensions, dropped })
    }

    fn drop_right(&mut self, right: &str, what: &str) {
        if self.dropped.len() < MOST_DROPPED {
            self.dropped.push(format!("{right}: {what}"));
        }
    }

    fn stance(&mut self, decision: Decision) -> Result<Stance, String> {
        match decision {
            Decision::Allow => Ok(Stance::Allow),
            Decision::Ask(questions) => self.questions(questions),
            Decision::Deny(denial) if self.rights.deny => Ok(Stance::Deny(denial)),
            Decision::Deny(denial) => {
                self.drop_right("deny", denial.code.as_str());
                Ok(Stance::Allow)
            }
        }
    }

    fn questions(&mut self, questions: Vec<Question>) -> Result<Stance, String> {
        if questions.is_empty() {
            return Err("it asks without a question".to_owned());
        }
        if questions.len() > MOST_QUESTIONS {
            return Err(format!("it asks more than {MOST_QUESTIONS} questions"));
        }
        if self.rights.ask {
            return Ok(Stance::Ask(questions));
        }
        for question in &questions {
            self.drop_right("ask", question.code.as_str());
        }
        Ok(Stance::Allow)
    }

    fn edits(&mut self, edits: Vec<Edit>) -> Result<Vec<Edit>, String> {
        if edits.iter().filter(|edit| matches!(edit, Edit::Remove { .. })).count() > MOST_REMOVALS {
            return Err(format!("it removes more than {MOST_REMOVALS} members"));
        }
        let mut kept = Vec::with_capacity(edits.len());
        // Counted, not listed: a policy without the right may wish for thousands.
        let (mut spans, mut members, mut fences) = (0_u32, 0_u32, 0_u32);
        for edit in edits {
            declared(self.policy, edit.rule())?;
            let allowed = match &edit {
                Edit::Blank { span, .. } => self.blank(*span)?.then_some(()).ok_or(&mut spans),
                Edit::Remove { pointer, .. } => self.removal(pointer)?.then_some(()).ok_or(&mut members),
                Edit::Fence { segment, .. } => self.fence(*segment)?.then_some(()).ok_or(&mut fences),
            };
            match allowed {
                Ok(()) => kept.push(edit),
                Err(count) => *count += 1,
            }
        }
        for (right, count) in [("edit-span", spans), ("remove-member", members), ("fence", fences)] {
            if count > 0 {
                self.drop_right(right, &format!("{count} not allowed here"));
            }
        }
        Ok(kept)
    }

    fn blank(&self, span: Span) -> Result<bool, String> {
        if !fits(span, self.view.segments) {
            return Err("a span to blank does not fit the segments".to_owned());
        }
        if self.view.segments.get(span.segment as usize).is_some_and(|segment| segment.key) {
            return Err("a span to blank lies in a key".to_owned());
        }
        Ok(self.rights.edit_span && self.view.editable.is_some())
    }

    fn removal(&self, pointer: &str) -> Result<bool, String> {
        let Some((document, place)) = self.view.editable else {
            return Ok(false);
        };
        match removable(document, place, pointer) {
            Removable::Yes => Ok(self.rights.remove_member),
            Removable::No => Ok(false),
            Removable::Absent => Err("a member to remove does not exist".to_owned()),
        }
    }

    fn fence(&self, index: u32) -> Result<bool, String> {
        let Some(segment) = self.view.segments.get(index as usize) else {
            return Err("a segment to fence does not exist".to_owned());
        };
        if segment.key {
            return Err("a segment to fence is a key".to_owned());
        }
        Ok(self.rights.fence && self.view.editable.is_some() && may_fence(segment))
    }

    fn labels(&mut self, labels: Vec<Label>) -> Result<Vec<Marked>, String> {
        let mut kept: Vec<Marked> = Vec::new();
        for label in labels {
            if !self.policy.description.labels.contains(&label.name) {
                return Err("a label is not declared".to_owned());
            }
            let cause = label.segment.map(|index| self.view.segments.get(index as usize));
            if cause == Some(None) {
                return Err("a label names a segment that does not exist".to_owned());
            }
            if !self.rights.label {
                self.drop_right("label", &label.name);
                continue;
            }
            let pointer = cause.flatten().map(|segment| segment.pointer.clone());
            if kept.len() >= MOST_LABELS || kept.iter().any(|known| known.covers(&label.name, pointer.as_deref())) {
                continue;
            }
            let (server, tool) = (self.view.server.to_owned(), self.view.name.to_owned());
            kept.push(Marked { fact: LabelFact { name: label.name, server, tool }, pointer });
        }
        Ok(kept)
    }

    fn charges(&mut self, charges: Vec<Charge>) -> Result<Vec<Pending>, String> {
        if charges.len() > MOST_CHARGES {
            return Err(format!("it charges more than {MOST_CHARGES} times"));
        }
        let mut kept: Vec<Pending> = Vec::with_capacity(charges.len());
        for charge in charges {
            let Some(meter) = self.policy.description.meters.iter().find(|meter| meter.name == charge.meter) else {
                return Err("a charged meter is not declared".to_owned());
            };
            if charge.key.len() > LONGEST_KEY {
                return Err(format!("the key of a charge is longer than {LONGEST_KEY} bytes"));
            }
            if !self.rights.charge {
                self.drop_right("charge", &charge.meter);
                continue;
            }
            let pending = Pending {
                policy: self.policy.description.name.clone(),
                window: Duration::from_secs(meter.window_seconds.into()),
                meter: charge.meter,
                key: charge.key,
                amount: charge.amount,
                limit: charge.limit,
            };
            match kept.iter_mut().find(|known| known.is_same_count(&pending)) {
                Some(known) => {
                    known.amount = known.amount.saturating_add(pending.amount);
                    known.limit = known.limit.min(pending.limit);
                }
                None => kept.push(pending),
            }
        }
        Ok(kept)
    }
}

/// Returns true where an edit would publish a listed item under another name.
pub(crate) fn renames(view: View<'_>, edit: &Edit) -> bool {
    let (Edit::Blank { span: Span { segment, .. }, .. } | Edit::Fence { segment, .. }) = edit else {
        return false;
    };
    let Some((_, place)) = view.editable else {
        return false;
    };
    view.segments.get(*segment as usize).is_some_and(|segment| is_identity(place, segment))
}

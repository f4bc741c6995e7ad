//! From what a guest answered to the vocabulary of the host.
//!
//! A guest may answer anything that has the right shape, so names, spans, indices and JSON are checked here. What a
//! policy has no right to is not judged here: that is for the gates.

use portcullis_model::json::{Limits, Object, Value, parse_with};
use portcullis_model::{
    ApproverClass, Charge, Decision, Denial, Description, Edit, Finding, Label, Meter, PolicyName, Question,
    Replacement, Rights, Rule, RuleId, Segment, Selection, Severity, Span, Verdict,
};

use crate::error::{Malformed, cut};
use crate::v0_1::generated::exports::portcullis::policy::{environment_gate, lifecycle};
use crate::v0_1::generated::portcullis::policy::types;

/// Bounds of `extensions`: it carries a few limits and notes, not documents.
const EXTENSIONS: Limits = Limits { bytes: 64 * 1024, depth: 16 };

/// Parses rule names. Answers with many edits repeat one name, which then is shared instead of parsed again.
#[derive(Default)]
struct Names {
    last: Option<RuleId>,
}

impl Names {
    fn rule(&mut self, text: &str, place: &'static str) -> Result<RuleId, Malformed> {
        if let Some(last) = self.last.as_ref().filter(|last| last.as_str() == text) {
            return Ok(last.clone());
        }
        let rule = RuleId::parse(text).map_err(|source| Malformed::Name { place, source })?;
        self.last = Some(rule.clone());
        Ok(rule)
    }
}

fn severity(severity: types::Severity) -> Severity {
    match severity {
        types::Severity::Info => Severity::Info,
        types::Severity::Low => Severity::Low,
        types::Severity::Medium => Severity::Medium,
        types::Severity::High => Severity::High,
        types::Severity::Critical => Severity::Critical,
    }
}

fn span(span: types::Span, segments: &[Segment], place: &'static str) -> Result<Span, Malformed> {
    let span = Span { segment: span.segment, start: span.start, end: span.end };
    span.text(segments).map(|_| span).ok_or(Malformed::Span { place })
}

fn segment(index: u32, segments: &[Segment], place: &'static str) -> Result<u32, Malformed> {
    segments.get(index as usize).map(|_| index).ok_or(Malformed::Segment { place })
}

fn extensions(text: &str) -> Result<Object, Malformed> {
    // The usual answer; a parser would find nothing else in it.
    if text == "{}" {
        return Ok(Object::new());
    }
    match parse_with(text.as_bytes(), EXTENSIONS).map_err(Malformed::ExtensionsText)? {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Malformed::Extensions)
        }
    }
}

fn finding(finding: types::Finding, segments: &[Segment], names: &mut Names) -> Result<Finding, Malformed> {
    Ok(Finding {
        rule: names.rule(&finding.rule, "the rule of a finding")?,
        severity: severity(finding.severity),
        message: cut(finding.message),
        evidence: finding
            .evidence
            .into_iter()
            .map(|evidence| span(evidence, segments, "the evidence of a finding"))
            .collect::<Result<_, _>>()?,
    })
}

fn question(question: types::Question, names: &mut Names) -> Result<Question, Malformed> {
    Ok(Question {
        code: names.rule(&question.code, "the code of a question")?,
        text: cut(question.text),
        severity: severity(question.severity),
        lowest_approver: match question.lowest_approver {
            types::ApproverClass::Client => ApproverClass::Client,
            types::ApproverClass::Operator => ApproverClass::Operator,
        },
    })
}

fn decision(decision: types::Decision, names: &mut Names) -> Result<Decision, Malformed> {
    Ok(match decision {
        types::Decision::Allow => Decision::Allow,
        types::Decision::Ask(questions) if questions.is_empty() => return Err(Malformed::NoQuestion),
        types::Decision::Ask(questions) => {
            Decision::Ask(questions.into_iter().map(|asked| question(asked, names)).collect::<Result<_, _>>()?)
        }
        types::Decision::Deny(denial) => Decision::Deny(Denial {
            code: names.rule(&denial.code, "the code of a denial")?,
            message: cut(denial.message),
        }),
    })
}

fn edit(edit: types::Edit, segments: &[Segment], names: &mut Names) -> Result<Edit, Malformed> {
    Ok(match edit {
        types::Edit::Blank(blank) => Edit::Blank {
            rule: names.rule(&blank.rule, "the rule of an edit")?,
            span: span(blank.span, segments, "an edit")?,
            replacement: match blank.replacement {
                types::Replacement::Marker => Replacement::Marker,
                types::Replacement::Nothing => Replacement::Nothing,
            },
        },
        types::Edit::Remove(removal) => {
            Edit::Remove { rule: names.rule(&removal.rule, "the rule of an edit")?, pointer: removal.pointer }
        }
        types::Edit::Fence(fence) => Edit::Fence {
            rule: names.rule(&fence.rule, "the rule of an edit")?,
            segment: segment(fence.segment, segments, "a fence")?,
        },
    })
}

/// Converts a verdict over the given segments.
pub(crate) fn verdict(verdict: types::Verdict, segments: &[Segment]) -> Result<Verdict, Malformed> {
    let names = &mut Names::default();
    Ok(Verdict {
        decision: decision(verdict.decision, names)?,
        findings: verdict
            .findings
            .into_iter()
            .map(|found| finding(found, segments, names))
            .collect::<Result<_, _>>()?,
        edits: verdict.edits.into_iter().map(|wish| edit(wish, segments, names)).collect::<Result<_, _>>()?,
        labels: verdict
            .labels
            .into_iter()
            .map(|label| {
                let cause = label.segment.map(|index| segment(index, segments, "a label")).transpose()?;
                Ok(Label { name: label.name, segment: cause })
            })
            .collect::<Result<_, _>>()?,
        charges: verdict
            .charges
            .into_iter()
            .map(|charge| Charge { meter: charge.meter, key: charge.key, amount: charge.amount, limit: charge.limit })
            .collect(),
        extensions: extensions(&verdict.extensions)?,
    })
}

/// Converts the answer of the environment gate over the given segments.
pub(crate) fn selection(selection: environment_gate::Selection, segments: &[Segment]) -> Result<Selection, Malformed> {
    let names = &mut Names::default();
    Ok(Selection {
        removed: selection.removed,
        findings: selection
            .findings
            .into_iter()
            .map(|found| finding(found, segments, names))
            .collect::<Result<_, _>>()?,
        extensions: extensions(&selection.extensions)?,
    })
}

fn rights(wanted: lifecycle::Rights) -> Rights {
    Rights {
        ask: wanted.contains(lifecycle::Rights::ASK),
        deny: wanted.contains(lifecycle::Rights::DENY),
        edit_span: wanted.contains(lifecycle::Rights::EDIT_SPAN),
        remove_member: wanted.contains(lifecycle::Rights::REMOVE_MEMBER),
        label: wanted.contains(lifecycle::Rights::LABEL),
        charge: wanted.contains(lifecycle::Rights::CHARGE),
        fence: wanted.contains(lifecycle::Rights::FENCE),
    }
}

/// Converts what a policy says of itself.
pub(crate) fn description(description: lifecycle::Description) -> Result<Description, Malformed> {
    let names = &mut Names::default();
    Ok(Description {
        name: PolicyName::parse(&description.name)
            .map_err(|source| Malformed::Name { place: "the name of the policy", source })?,
        version: cut(description.version),
        summary: cut(description.summary),
        rules: description
            .rules
            .into_iter()
            .map(|rule| {
                Ok(Rule {
                    id: names.rule(&rule.id, "the id of a rule")?,
                    severity: severity(rule.severity),
                    summary: cut(rule.summary),
                })
            })
            .collect::<Result<_, _>>()?,
        labels: description.labels,
        meters: description
            .meters
            .into_iter()
            .map(|meter| Meter { name: meter.name, window_seconds: meter.window_seconds })
            .collect(),
        wants: rights(description.wants),
        needs_payload: description.needs_payload,
    })
}

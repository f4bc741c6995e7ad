//! From what a guest of the draft answered to the vocabulary of the host.

use portcullis_model::json::Object;
use portcullis_model::{
    ApproverClass, Decision, Denial, Description, Finding, PolicyName, Question, Rights, Rule, RuleId, Severity,
    Verdict,
};

use super::generated::exports::portcullis::policy::lifecycle;
use super::generated::portcullis::policy::types;
use crate::error::{Malformed, cut};

fn rule(text: &str, place: &'static str) -> Result<RuleId, Malformed> {
    RuleId::parse(text).map_err(|source| Malformed::Name { place, source })
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

pub(super) fn verdict(verdict: types::Verdict) -> Result<Verdict, Malformed> {
    let decision = match verdict.decision {
        types::Decision::Allow => Decision::Allow,
        types::Decision::Ask(question) => Decision::Ask(vec![Question {
            code: rule(&question.rule, "the rule of a question")?,
            text: cut(question.text),
            severity: severity(question.severity),
            lowest_approver: ApproverClass::Operator,
        }]),
        types::Decision::Deny(broken) => {
            Decision::Deny(Denial { code: rule(&broken, "the rule of a denial")?, message: String::new() })
        }
    };
    let findings = verdict.findings.into_iter().map(|finding| {
        Ok(Finding {
            rule: rule(&finding.rule, "the rule of a finding")?,
            severity: severity(finding.severity),
            message: cut(finding.message),
            evidence: Vec::new(),
        })
    });
    Ok(Verdict {
        decision,
        findings: findings.collect::<Result<_, Malformed>>()?,
        edits: Vec::new(),
        labels: Vec::new(),
        charges: Vec::new(),
        extensions: Object::new(),
    })
}

/// What the draft does not say of a policy: it needs payloads and wants to ask and deny, which is all that its verdicts can do.
pub(super) fn description(description: lifecycle::Description) -> Result<Description, Malformed> {
    let rules = description
        .rules
        .iter()
        .map(|id| Ok(Rule { id: rule(id, "the id of a rule")?, severity: Severity::Medium, summary: String::new() }));
    Ok(Description {
        name: PolicyName::parse(&description.name)
            .map_err(|source| Malformed::Name { place: "the name of the policy", source })?,
        version: cut(description.version),
        summary: cut(description.summary),
        rules: rules.collect::<Result<_, Malformed>>()?,
        labels: Vec::new(),
        meters: Vec::new(),
        wants: Rights { ask: true, deny: true, ..Rights::NONE },
        needs_payload: true,
    })
}

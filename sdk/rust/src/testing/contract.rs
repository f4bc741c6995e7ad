//! Holds a verdict against what the host accepts.

use crate::{Decision, Description, Edit, Rights, Segment, Span, Verdict};

/// Returns each way in which a verdict breaks the contract or what the policy declared; empty where it is sound.
pub fn breaches(description: &Description, segments: &[Segment], verdict: &Verdict) -> Vec<String> {
    let mut checker = Checker { description, segments, breaches: Vec::new() };
    checker.decision(&verdict.decision);
    for finding in &verdict.findings {
        checker.rule(&finding.rule);
        finding.evidence.iter().for_each(|span| checker.span(*span));
    }
    verdict.edits.iter().for_each(|edit| checker.edit(edit));
    for label in &verdict.labels {
        checker.right(Rights::LABEL, "label");
        checker.expect(description.labels.contains(&label.name), || format!("label `{}` is not declared", label.name));
        let exists = label.segment.is_none_or(|segment| (segment as usize) < segments.len());
        checker.expect(exists, || format!("label `{}` names a segment that does not exist", label.name));
    }
    for charge in &verdict.charges {
        checker.right(Rights::CHARGE, "charge");
        let declared = description.meters.iter().any(|meter| meter.name == charge.meter);
        checker.expect(declared, || format!("meter `{}` is not declared", charge.meter));
    }
    let object = serde_json::from_str::<serde_json::Map<_, _>>(&verdict.extensions);
    checker.expect(object.is_ok(), || "extensions are not a JSON object".to_owned());
    checker.breaches
}

struct Checker<'a> {
    description: &'a Description,
    segments: &'a [Segment],
    breaches: Vec<String>,
}

impl Checker<'_> {
    fn expect(&mut self, holds: bool, breach: impl FnOnce() -> String) {
        if !holds {
            self.breaches.push(breach());
        }
    }

    fn right(&mut self, right: Rights, name: &str) {
        let wanted = self.description.wants & right == right;
        self.expect(wanted, || format!("uses the right `{name}`, which `describe` does not want"));
    }

    fn rule(&mut self, id: &str) {
        let declared = self.description.rules.iter().any(|rule| rule.id == id);
        self.expect(declared, || format!("rule `{id}` is not declared"));
    }

    fn code(&mut self, code: &str) {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        self.expect(code.split('-').all(word), || format!("code `{code}` is not lowercase words joined by hyphens"));
    }

    fn span(&mut self, span: Span) {
        let segment = self.segments.get(span.segment as usize);
        let fits = segment.is_some_and(|segment| segment.text.get(span.start as usize..span.end as usize).is_some());
        self.expect(fits, || format!("{span:?} does not fit the segments"));
    }

    fn decision(&mut self, decision: &Decision) {
        match decision {
            Decision::Allow => {}
            Decision::Ask(questions) => {
                self.right(Rights::ASK, "ask");
                self.expect(!questions.is_empty(), || "asks no question".to_owned());
                for question in questions {
                    self.code(&question.code);
                }
            }
            Decision::Deny(denial) => {
                self.right(Rights::DENY, "deny");
                self.code(&denial.code);
            }
        }
    }

    fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Blank(blank) => {
                self.right(Rights::EDIT_SPAN, "edit-span");
                self.rule(&blank.rule);
                self.span(blank.span);
                let key = self.segments.get(blank.span.segment as usize).is_some_and(|segment| segment.key);
                self.expect(!key, || "blanks a key, which cannot be edited".to_owned());
            }
            Edit::Remove(removal) => {
                self.right(Rights::REMOVE_MEMBER, "remove-member");
                self.rule(&removal.rule);
            }
            Edit::Fence(fence) => {
                self.right(Rights::FENCE, "fence");
                self.rule(&fence.rule);
                let exists = self.segments.get(fence.segment as usize).is_some_and(|segment| !segment.key);
                self.expect(exists, || "fences no segment or a key".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, Replacement, Role, Rule, Severity};

    #[test]
    fn what_is_not_declared_not_wanted_or_out_of_bounds_is_reported() {
        let description =
            Description::new("policy", "1.0.0", "Tests.").rule(Rule::new("known", Severity::Low, "Known."));
        let key = Segment { pointer: "/a".to_owned(), role: Role::Name, key: true, text: "a".to_owned() };
        let verdict = Verdict::deny("Bad code", "")
            .with_finding(Finding::new("unknown", Severity::Low, "").at(Span { segment: 0, start: 0, end: 9 }))
            .with_edit(Edit::blank("known", Span { segment: 0, start: 0, end: 1 }, Replacement::Marker))
            .with_label("label", 0);
        assert_eq!(
            breaches(&description, &[key], &verdict),
            [
                "uses the right `deny`, which `describe` does not want",
                "code `Bad code` is not lowercase words joined by hyphens",
                "rule `unknown` is not declared",
                "Span { segment: 0, start: 0, end: 9 } does not fit the segments",
                "uses the right `edit-span`, which `describe` does not want",
                "blanks a key, which cannot be edited",
                "uses the right `label`, which `describe` does not want",
                "label `label` is not declared",
            ]
        );
    }
}

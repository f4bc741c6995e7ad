//! Builders for verdicts and what they hold.

use crate::segment::narrow;
use crate::{
    ApproverClass, Blank, Charge, Decision, Denial, Edit, Fence, Finding, Label, Question, Removal, Replacement,
    Severity, Span, Verdict,
};

/// The empty JSON object.
const NO_EXTENSIONS: &str = "{}";

impl Verdict {
    fn of(decision: Decision) -> Self {
        Self {
            decision,
            findings: Vec::new(),
            edits: Vec::new(),
            labels: Vec::new(),
            charges: Vec::new(),
            extensions: String::from(NO_EXTENSIONS),
        }
    }

    /// Lets the subject pass.
    pub fn allow() -> Self {
        Self::of(Decision::Allow)
    }

    /// Refuses the subject. `code` is stable, lowercase words joined by hyphens; `message` is for the operator alone.
    pub fn deny(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(Decision::Deny(Denial { code: code.into(), message: message.into() }))
    }

    /// Asks an approver. No question allows.
    pub fn ask(questions: Vec<Question>) -> Self {
        if questions.is_empty() { Self::allow() } else { Self::of(Decision::Ask(questions)) }
    }

    /// Adds a finding.
    #[must_use]
    pub fn with_finding(mut self, finding: Finding) -> Self {
        self.findings.push(finding);
        self
    }

    /// Adds findings.
    #[must_use]
    pub fn with_findings(mut self, findings: impl IntoIterator<Item = Finding>) -> Self {
        self.findings.extend(findings);
        self
    }

    /// Adds an edit.
    #[must_use]
    pub fn with_edit(mut self, edit: Edit) -> Self {
        self.edits.push(edit);
        self
    }

    /// Adds edits.
    #[must_use]
    pub fn with_edits(mut self, edits: impl IntoIterator<Item = Edit>) -> Self {
        self.edits.extend(edits);
        self
    }

    /// Labels the session, because of a segment.
    #[must_use]
    pub fn with_label(mut self, name: impl Into<String>, segment: usize) -> Self {
        self.labels.push(Label { name: name.into(), segment: Some(narrow(segment)) });
        self
    }

    /// Labels the session, because of the whole subject.
    #[must_use]
    pub fn with_label_of_all(mut self, name: impl Into<String>) -> Self {
        self.labels.push(Label { name: name.into(), segment: None });
        self
    }

    /// Charges a meter: the host refuses the passage if the sum in the window would exceed the limit.
    #[must_use]
    pub fn with_charge(mut self, charge: Charge) -> Self {
        self.charges.push(charge);
        self
    }

    /// Adds keys of a JSON object that the host knows; the first to set a key wins.
    #[must_use]
    pub fn with_extensions(mut self, object: &serde_json::Map<String, serde_json::Value>) -> Self {
        let mut merged = self.extensions_object();
        for (key, value) in object {
            merged.entry(key.clone()).or_insert_with(|| value.clone());
        }
        self.extensions = serde_json::Value::Object(merged).to_string();
        self
    }

    /// Joins two verdicts: the stricter decision (allow < ask < deny; of two denials the first), the questions of both where both
    /// ask, and everything else appended.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.decision = match (self.decision, other.decision) {
            (Decision::Deny(first), _) | (Decision::Allow | Decision::Ask(_), Decision::Deny(first)) => {
                Decision::Deny(first)
            }
            (Decision::Ask(mut first), Decision::Ask(second)) => {
                first.extend(second);
                Decision::Ask(first)
            }
            (Decision::Ask(questions), Decision::Allow) | (Decision::Allow, Decision::Ask(questions)) => {
                Decision::Ask(questions)
            }
            (Decision::Allow, Decision::Allow) => Decision::Allow,
        };
        self.findings.extend(other.findings);
        self.edits.extend(other.edits);
        self.labels.extend(other.labels);
        self.charges.extend(other.charges);
        if self.extensions == NO_EXTENSIONS {
            self.extensions = other.extensions;
        } else if other.extensions != NO_EXTENSIONS
            && let Ok(object) = serde_json::from_str(&other.extensions)
        {
            return self.with_extensions(&object);
        }
        self
    }

    fn extensions_object(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(&self.extensions).unwrap_or_default()
    }
}

impl Question {
    /// Builds a question: `code` is stable, lowercase words joined by hyphens; `text` is for the approver.
    pub fn new(
        code: impl Into<String>,
        text: impl Into<String>,
        severity: Severity,
        lowest_approver: ApproverClass,
    ) -> Self {
        Self { code: code.into(), text: text.into(), severity, lowest_approver }
    }
}

impl Finding {
    /// Builds a finding without evidence. `rule` is one that `describe` declares.
    pub fn new(rule: impl Into<String>, severity: Severity, message: impl Into<String>) -> Self {
        Self { rule: rule.into(), severity, message: message.into(), evidence: Vec::new() }
    }

    /// Adds a span as evidence.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.evidence.push(span);
        self
    }
}

impl Edit {
    /// Blanks a span of a segment that is no key.
    pub fn blank(rule: impl Into<String>, span: Span, replacement: Replacement) -> Self {
        Self::Blank(Blank { rule: rule.into(), span, replacement })
    }

    /// Removes one optional member, named by its JSON pointer.
    pub fn remove(rule: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self::Remove(Removal { rule: rule.into(), pointer: pointer.into() })
    }

    /// Puts a whole segment between markers of the host that say: data, not instructions.
    pub fn fence(rule: impl Into<String>, segment: usize) -> Self {
        Self::Fence(Fence { rule: rule.into(), segment: narrow(segment) })
    }
}

impl Charge {
    /// Charges one to a meter under a key, refused beyond the limit.
    pub fn one(meter: impl Into<String>, key: impl Into<String>, limit: u64) -> Self {
        Self { meter: meter.into(), key: key.into(), amount: 1, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(code: &str) -> Question {
        Question::new(code, "May it?", Severity::Medium, ApproverClass::Client)
    }

    #[test]
    fn the_stricter_decision_wins_in_either_order() {
        let ask = || Verdict::ask(vec![question("a")]);
        let deny = || Verdict::deny("no", "no");
        assert_eq!(Verdict::allow().join(ask()).decision, ask().decision);
        assert_eq!(ask().join(Verdict::allow()).decision, ask().decision);
        assert_eq!(ask().join(deny()).decision, deny().decision);
        assert_eq!(deny().join(ask()).decision, deny().decision);
        assert_eq!(deny().join(Verdict::allow()).decision, deny().decision);
    }

    #[test]
    fn two_asks_keep_the_questions_of_both() {
        let joined = Verdict::ask(vec![question("a")]).join(Verdict::ask(vec![question("b")]));
        assert_eq!(joined.decision, Decision::Ask(vec![question("a"), question("b")]));
    }

    #[test]
    fn asking_nothing_allows() {
        assert_eq!(Verdict::ask(Vec::new()).decision, Decision::Allow);
    }

    #[test]
    fn joined_extensions_keep_the_first_of_two_equal_keys() {
        let with = |text: &str| Verdict { extensions: text.to_owned(), ..Verdict::allow() };
        assert_eq!(with("{}").join(with(r#"{"a":1}"#)).extensions, r#"{"a":1}"#);
        assert_eq!(with(r#"{"a":1}"#).join(with(r#"{"a":2,"b":3}"#)).extensions, r#"{"a":1,"b":3}"#);
    }
}

//! # hidden-text
//!
//! **What it does.** Takes out characters that no reader sees and a model reads: the TAG block, zero-width and direction marks, control
//! characters. Refuses a request where one stands in a key, which cannot be edited.
//!
//! **Why.** A request of a server is shown to a person and handed to a model. Both have to see the same.
//!
//! **Example.** A form titled `Your name` followed by forty TAG letters is shown as `Your name`. What real writing needs stays:
//! joiners between letters that join, sequences of pictures.

use portcullis_sdk::{Edit, Finding, Replacement, Rule, Segment, Severity, Verdict};
use portcullis_text::hidden;

const ID: &str = "hidden-text";

pub(super) fn rule() -> Rule {
    Rule::new(ID, Severity::High, "A request of a server with characters that nobody sees.")
}

pub(crate) fn judge(segments: &[Segment]) -> Verdict {
    let mut verdict = Verdict::allow();
    let mut finding = Finding::new(ID, Severity::High, "characters that nobody sees");
    for (index, segment) in segments.iter().enumerate() {
        for hidden in hidden::scan(&segment.text) {
            let span = segment.span(index, hidden.start..hidden.end);
            finding = finding.at(span);
            if segment.key {
                verdict = verdict.join(Verdict::deny("hidden-text", "a key holds characters that nobody sees"));
            } else {
                let replacement = if hidden.inert { Replacement::Nothing } else { Replacement::Marker };
                verdict = verdict.with_edit(Edit::blank(ID, span, replacement));
            }
        }
    }
    if finding.evidence.is_empty() { verdict } else { verdict.with_finding(finding) }
}

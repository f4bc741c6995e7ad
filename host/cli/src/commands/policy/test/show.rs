//! Verdicts as text, for people and for the file that later runs are compared with.

use std::fmt::Write as _;

use portcullis_model::{Answer, Decision, Edit, Finding, Segment, Span, Subject, Verdict};

use crate::failure::one_line;

/// Writes an answer.
pub(super) fn answer(subject: &Subject, answer: &Answer) -> String {
    let mut text = String::new();
    match (subject, answer) {
        (Subject::Listing(batch), Answer::Verdicts(verdicts)) => {
            for (item, one) in batch.items.iter().zip(verdicts) {
                verdict(&mut text, &item.segments, one);
            }
        }
        (_, Answer::Verdicts(verdicts)) => verdicts.iter().for_each(|one| verdict(&mut text, &[], one)),
        (_, Answer::Selection(selection)) => {
            let _infallible = writeln!(text, "withhold {}", one_line(&selection.removed.join(" ")));
            findings(&mut text, &[], &selection.findings);
        }
        (_, Answer::Verdict(one)) => verdict(&mut text, segments(subject), one),
    }
    text
}

/// Returns the segments of a subject that has one list of them.
pub(super) fn segments(subject: &Subject) -> &[Segment] {
    match subject {
        Subject::Config(subject) => &subject.segments,
        Subject::Environment(subject) => &subject.config.segments,
        Subject::Listing(_) => &[],
        Subject::Call(subject) => &subject.segments,
        Subject::Result(subject) => &subject.segments,
        Subject::Request(subject) => &subject.segments,
    }
}

fn verdict(text: &mut String, segments: &[Segment], verdict: &Verdict) {
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    match &verdict.decision {
        Decision::Allow => line("allow"),
        Decision::Deny(denial) => line(&format!("deny {}: {}", denial.code, one_line(&denial.message))),
        Decision::Ask(questions) => {
            for question in questions {
                let (severity, class) = (question.severity.as_str(), question.lowest_approver.as_str());
                line(&format!("ask {} ({severity}, {class}): {}", question.code, one_line(&question.text)));
            }
        }
    }
    findings(text, segments, &verdict.findings);
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for edit in &verdict.edits {
        match edit {
            Edit::Blank { rule, span, replacement: _ } => line(format!("blank {rule} at {}", place(segments, *span))),
            Edit::Remove { rule, pointer } => line(format!("remove {rule} {}", one_line(pointer))),
            Edit::Fence { rule, segment } => line(format!("fence {rule} {}", pointer(segments, *segment))),
        }
    }
    for label in &verdict.labels {
        let cause = label.segment.map_or_else(|| "the whole".to_owned(), |segment| pointer(segments, segment));
        line(format!("label {} because of {cause}", one_line(&label.name)));
    }
    for charge in &verdict.charges {
        let key = one_line(&charge.key);
        line(format!("charge {} {key} by {} up to {}", one_line(&charge.meter), charge.amount, charge.limit));
    }
    if !verdict.extensions.is_empty() {
        let extensions = portcullis_model::json::Value::from(verdict.extensions.clone()).to_canonical();
        line(format!("extensions {}", one_line(&extensions)));
    }
}

fn findings(text: &mut String, segments: &[Segment], findings: &[Finding]) {
    for finding in findings {
        let (rule, severity) = (&finding.rule, finding.severity.as_str());
        let _infallible = writeln!(text, "finding {rule} ({severity}): {}", one_line(&finding.message));
        for span in &finding.evidence {
            let _infallible = writeln!(text, "  at {}", place(segments, *span));
        }
    }
}

fn place(segments: &[Segment], span: Span) -> String {
    let text = span.text(segments).unwrap_or("out of bounds");
    format!("{} {}..{} \"{}\"", pointer(segments, span.segment), span.start, span.end, one_line(text))
}

fn pointer(segments: &[Segment], index: u32) -> String {
    match segments.get(index as usize) {
        None => format!("segment {index}"),
        Some(segment) if segment.key => format!("key {}", one_line(&segment.pointer)),
        Some(segment) => format!("\"{}\"", one_line(&segment.pointer)),
    }
}

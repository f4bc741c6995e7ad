//! Verdicts as text.

use std::fmt::Write as _;

use crate::{Decision, Edit, Replacement, Segment, Selection, Span, Verdict};

/// Writes a verdict as lines, for a snapshot.
pub fn show(segments: &[Segment], verdict: &Verdict) -> String {
    let mut lines = String::new();
    let mut line = |text: String| {
        lines.push_str(&text);
        lines.push('\n');
    };
    match &verdict.decision {
        Decision::Allow => line("allow".to_owned()),
        Decision::Ask(questions) => questions.iter().for_each(|question| {
            line(format!("ask {} ({:?}, {:?})", question.code, question.severity, question.lowest_approver));
            question.text.lines().for_each(|text| line(format!("  | {text}")));
        }),
        Decision::Deny(denial) => line(format!("deny {}: {}", denial.code, denial.message)),
    }
    for finding in &verdict.findings {
        line(format!("finding {} ({:?}): {}", finding.rule, finding.severity, finding.message));
        finding.evidence.iter().for_each(|span| line(format!("  at {}", place(segments, *span))));
    }
    for edit in &verdict.edits {
        match edit {
            Edit::Blank(blank) => {
                line(format!("blank {} ({:?}) at {}", blank.rule, blank.replacement, place(segments, blank.span)));
            }
            Edit::Remove(removal) => line(format!("remove {} {}", removal.rule, removal.pointer)),
            Edit::Fence(fence) => line(format!("fence {} {}", fence.rule, pointer(segments, fence.segment))),
        }
    }
    for label in &verdict.labels {
        let cause = label.segment.map_or_else(|| "the whole".to_owned(), |segment| pointer(segments, segment));
        line(format!("label {} because of {cause}", label.name));
    }
    for charge in &verdict.charges {
        line(format!("charge {} {} by {} up to {}", charge.meter, charge.key, charge.amount, charge.limit));
    }
    if verdict.extensions != "{}" {
        line(format!("extensions {}", verdict.extensions));
    }
    lines
}

/// Writes the answer of the environment gate as lines.
pub(super) fn show_selection(selection: &Selection) -> String {
    let mut lines = format!("withhold {}\n", selection.removed.join(" "));
    for finding in &selection.findings {
        let _infallible = writeln!(lines, "finding {} ({:?}): {}", finding.rule, finding.severity, finding.message);
    }
    lines
}

/// Returns the text of a segment after all blanks of the verdict, with `[rule]` in the place of the marker of the host.
pub fn edited(segments: &[Segment], verdict: &Verdict, segment: usize) -> String {
    let text = segments.get(segment).map_or("", |segment| segment.text.as_str());
    let mut blanks: Vec<_> = verdict
        .edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::Blank(blank) if blank.span.segment as usize == segment => Some(blank),
            Edit::Blank(_) | Edit::Remove(_) | Edit::Fence(_) => None,
        })
        .collect();
    blanks.sort_by_key(|blank| (blank.span.start, blank.span.end));
    let mut result = String::new();
    let mut kept = 0;
    for blank in blanks {
        let (start, end) = (blank.span.start as usize, blank.span.end as usize);
        if start >= kept {
            result.push_str(text.get(kept..start).unwrap_or_default());
            if blank.replacement == Replacement::Marker {
                result.push('[');
                result.push_str(&blank.rule);
                result.push(']');
            }
        }
        kept = kept.max(end);
    }
    result.push_str(text.get(kept..).unwrap_or_default());
    result
}

/// A span with its text, invisible characters escaped.
fn place(segments: &[Segment], span: Span) -> String {
    let text = segments
        .get(span.segment as usize)
        .and_then(|segment| segment.text.get(span.start as usize..span.end as usize))
        .unwrap_or("out of bounds");
    format!("{} {}..{} {text:?}", pointer(segments, span.segment), span.start, span.end)
}

fn pointer(segments: &[Segment], index: u32) -> String {
    segments.get(index as usize).map_or_else(
        || format!("segment {index}"),
        |segment| if segment.key { format!("key {}", segment.pointer) } else { format!("\"{}\"", segment.pointer) },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::result_subject;

    #[test]
    fn overlapping_blanks_leave_one_marker() {
        let subject = result_subject(&["abcdef"]);
        let index = subject.segments.iter().position(|segment| segment.text == "abcdef").unwrap();
        let span = |range| subject.segments[index].span(index, range);
        let verdict = Verdict::allow()
            .with_edit(Edit::blank("second", span(2..5), Replacement::Marker))
            .with_edit(Edit::blank("first", span(1..3), Replacement::Marker));
        assert_eq!(edited(&subject.segments, &verdict, index), "a[first]f");
    }
}

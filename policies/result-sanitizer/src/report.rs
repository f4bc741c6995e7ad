//! Collects findings and edits, within bounds, to one verdict.

use std::fmt::Write as _;
use std::ops::Range;

use portcullis_sdk::{Edit, Finding, Replacement, Segment, Severity, Verdict};

use crate::settings::Settings;

/// Findings beyond this many say nothing new about a result.
const MOST_FINDINGS: usize = 64;
/// Spans of evidence in one finding.
const MOST_SPANS: usize = 4;
/// Edits of one segment beyond which the whole segment goes: text with a hidden character behind every letter is no text.
const MOST_EDITS: usize = 8192;

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) settings: &'a Settings,
    verdict: Verdict,
    dropped: usize,
}

/// What one rule found in one segment.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) index: usize,
    pub(crate) segment: &'a Segment,
    pub(crate) ranges: Vec<(Range<usize>, Replacement)>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        Self { settings, verdict: Verdict::allow(), dropped: 0 }
    }

    /// Adds a finding only.
    pub(crate) fn flag(&mut self, found: &Found<'_>) {
        if self.verdict.findings.len() >= MOST_FINDINGS {
            self.dropped += 1;
            return;
        }
        let mut finding = Finding::new(found.rule, found.severity, found.message.clone());
        for (range, _) in found.ranges.iter().take(MOST_SPANS) {
            finding = finding.at(found.segment.span(found.index, range.clone()));
        }
        self.verdict.findings.push(finding);
    }

    /// Adds a finding and blanks its ranges. Keys cannot be edited: for them the finding must do.
    pub(crate) fn blank(&mut self, found: &Found<'_>) {
        self.flag(found);
        if found.segment.key || self.settings.report_only.iter().any(|rule| rule == found.rule) {
            return;
        }
        if found.ranges.len() > MOST_EDITS {
            let whole = found.segment.whole(found.index);
            self.verdict.edits.push(Edit::blank(found.rule, whole, Replacement::Marker));
            return;
        }
        for (range, replacement) in &found.ranges {
            let span = found.segment.span(found.index, range.clone());
            self.verdict.edits.push(Edit::blank(found.rule, span, *replacement));
        }
    }

    /// Adds a finding and removes the member.
    pub(crate) fn remove(&mut self, found: &Found<'_>) {
        self.flag(found);
        if self.settings.report_only.iter().all(|rule| rule != found.rule) {
            self.verdict.edits.push(Edit::remove(found.rule, found.segment.pointer.clone()));
        }
    }

    /// Puts a segment between the host's markers.
    pub(crate) fn fence(&mut self, rule: &'static str, index: usize) {
        self.verdict.edits.push(Edit::fence(rule, index));
    }

    /// Labels a segment.
    pub(crate) fn label(&mut self, name: &'static str, index: usize) {
        let verdict = std::mem::replace(&mut self.verdict, Verdict::allow());
        self.verdict = verdict.with_label(name, index);
    }

    /// The verdict. Says how many findings were left out.
    pub(crate) fn verdict(mut self) -> Verdict {
        if self.dropped > 0
            && let Some(last) = self.verdict.findings.last_mut()
        {
            let _infallible = write!(last.message, " ({} more findings were left out)", self.dropped);
        }
        self.verdict
    }
}


impl portcullis_sdk::ResultGate for ForbiddenWords {
    /// Judges what is on its way to the model. Keys of objects are judged and cannot be edited.
    fn sanitize(&self, _facts: &Facts, subject: &portcullis_sdk::result_gate::Subject) -> portcullis_sdk::Verdict {
        use portcullis_sdk::{Edit, Replacement};
        let findings = self.findings(&subject.segments);
        let spans = findings.iter().flat_map(|finding| finding.evidence.clone());
        let texts = spans.filter(|span| subject.segments.get(span.segment as usize).is_some_and(|segment| !segment.key));
        let edits: Vec<_> = texts.map(|span| Edit::blank(RULE, span, Replacement::Marker)).collect();
        portcullis_sdk::Verdict::allow().with_findings(findings).with_edits(edits)
    }
}


impl portcullis_sdk::CallGate for ForbiddenWords {
    /// Judges a call before anything is sent.
    fn authorize(&self, _facts: &Facts, call: &portcullis_sdk::call_gate::Call) -> portcullis_sdk::Verdict {
        let findings = self.findings(&call.segments);
        if findings.is_empty() {
            return portcullis_sdk::Verdict::allow();
        }
        portcullis_sdk::Verdict::deny(RULE, MESSAGE).with_findings(findings)
    }
}

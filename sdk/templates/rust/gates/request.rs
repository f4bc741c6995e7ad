
impl portcullis_sdk::RequestGate for ForbiddenWords {
    /// Judges what a server asks of the client.
    fn authorize(&self, _facts: &Facts, request: &portcullis_sdk::request_gate::Request) -> portcullis_sdk::Verdict {
        let findings = self.findings(&request.segments);
        if findings.is_empty() {
            return portcullis_sdk::Verdict::allow();
        }
        portcullis_sdk::Verdict::deny(RULE, MESSAGE).with_findings(findings)
    }
}


impl portcullis_sdk::ConfigGate for ForbiddenWords {
    /// Judges a server entry before anything is started.
    fn screen(&self, _facts: &Facts, entry: &portcullis_sdk::config_gate::Entry) -> portcullis_sdk::Verdict {
        let findings = self.findings(&entry.segments);
        if findings.is_empty() {
            return portcullis_sdk::Verdict::allow();
        }
        portcullis_sdk::Verdict::deny(RULE, MESSAGE).with_findings(findings)
    }
}

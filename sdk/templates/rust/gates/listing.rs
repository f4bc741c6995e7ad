
impl portcullis_sdk::ListingGate for ForbiddenWords {
    /// Judges what a server offers: one verdict an item, in order.
    fn scan(&self, _facts: &Facts, batch: &portcullis_sdk::listing_gate::Batch) -> Vec<portcullis_sdk::Verdict> {
        let judge = |item: &portcullis_sdk::listing_gate::Item| {
            let findings = self.findings(&item.segments);
            if findings.is_empty() {
                return portcullis_sdk::Verdict::allow();
            }
            portcullis_sdk::Verdict::deny(RULE, MESSAGE).with_findings(findings)
        };
        batch.items.iter().map(judge).collect()
    }
}

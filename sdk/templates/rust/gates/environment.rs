
impl portcullis_sdk::EnvironmentGate for ForbiddenWords {
    /// Names the variables that a server does not get.
    fn select(&self, _facts: &Facts, subject: &portcullis_sdk::environment_gate::Subject) -> portcullis_sdk::Selection {
        let mut selection = portcullis_sdk::Selection::nothing();
        for offered in &subject.offered {
            if self.words.iter().any(|word| offered.name.contains(word)) {
                selection.removed.push(offered.name.clone());
                selection.findings.push(Finding::new(RULE, Severity::High, MESSAGE));
            }
        }
        selection
    }
}

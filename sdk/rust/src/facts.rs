//! Questions to the facts.

use crate::{ApproverClass, Facts};

impl Facts {
    /// Returns the sum in the window of a meter of this policy under a key; zero where nothing was charged.
    pub fn meter(&self, meter: &str, key: &str) -> u64 {
        self.meters
            .iter()
            .find(|reading| reading.meter == meter && reading.key == key)
            .map_or(0, |reading| reading.amount)
    }

    /// Returns true if the session carries the label.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|fact| fact.name == label)
    }

    /// Returns true if an approver of at least this class can be asked now.
    pub fn can_ask(&self, lowest: ApproverClass) -> bool {
        self.approver.is_some_and(|highest| highest >= lowest)
    }
}

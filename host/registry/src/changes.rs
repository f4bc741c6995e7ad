//! What differs between two catalogues.

/// Which lists differ between two catalogues, so that clients are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tools differ.
    pub tools: bool,
    /// Prompts differ.
    pub prompts: bool,
    /// Resources or resource templates differ.
    pub resources: bool,
}

impl Changes {
    /// Returns true where anything differs.
    pub fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }
}

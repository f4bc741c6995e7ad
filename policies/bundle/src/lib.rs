//! The default policies, as components with their settings and packs.
//!
//! The build script compiles each policy for `wasm32-unknown-unknown`, encodes it as a component, refuses one that imports more than
//! types and `log`, and embeds the bytes. The crate knows nothing of how a policy is run or configured.
//!
//! ```
//! for policy in portcullis_bundle::policies() {
//!     assert_eq!(policy.digest.len(), 64, "{}", policy.name);
//! }
//! ```

#![forbid(unsafe_code)]

use std::fmt;

/// One policy of the bundle.
#[derive(Clone, Copy)]
pub struct Bundled {
    /// Its name: lowercase words joined by hyphens, the same as it describes itself.
    pub name: &'static str,
    /// The component.
    pub wasm: &'static [u8],
    /// SHA-256 of the component, lowercase hex.
    pub digest: &'static str,
    /// The settings that it starts with where the operator states none, as YAML; `{}` for the policy's own defaults.
    pub settings_yaml: &'static str,
    /// Its packs, as (name, YAML), sorted by name. Each is a map with `name`, `version` and `data`.
    pub packs: &'static [(&'static str, &'static str)],
    /// True where it judges only if the operator's config says something of it: it has a capability, or a cost, that nobody
    /// should get unasked.
    pub optional: bool,
}

impl fmt::Debug for Bundled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packs: Vec<_> = self.packs.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Bundled")
            .field("name", &self.name)
            .field("bytes", &self.wasm.len())
            .field("digest", &self.digest)
            .field("packs", &packs)
            .finish_non_exhaustive()
    }
}

static POLICIES: &[Bundled] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Returns the policies of the bundle.
pub fn policies() -> &'static [Bundled] {
    POLICIES
}

/// Returns one policy by its name.
pub fn policy(name: &str) -> Option<&'static Bundled> {
    POLICIES.iter().find(|policy| policy.name == name)
}

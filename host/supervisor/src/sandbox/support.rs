//! What the running kernel can confine.

/// What the running kernel can confine. Other systems than Linux: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// How far Landlock goes: the number of its interface, as far as it is used here, 0 to 6. 1 has files, 3 has
    /// truncation, 4 has TCP ports, 5 has devices, 6 has signals (`landlock(7)`).
    pub landlock: u8,
    /// True where system calls can be refused by a filter that this build knows how to write.
    pub seccomp: bool,
}

#[cfg(target_os = "linux")]
impl Support {
    /// Asks the running kernel. Nothing is confined by that.
    pub fn probe() -> Self {
        let landlock = super::files::KNOWN.iter().rev().find(|level| super::files::is_supported(**level));
        let actions = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
        let has_filters = actions.split_ascii_whitespace().any(|action| action == "errno");
        Self {
            landlock: landlock.copied().unwrap_or_default(),
            seccomp: has_filters && super::calls::architecture().is_some(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Support {
    /// There is nothing to ask.
    pub fn probe() -> Self {
        Self::default()
    }
}

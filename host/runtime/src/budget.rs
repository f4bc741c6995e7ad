//! What an evaluation may use.

use std::time::Duration;

/// What one evaluation of a policy may use. Only the operator's config widens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// CPU time of the thread that evaluates, whatever the size of the subject.
    pub cpu: Duration,
    /// CPU time besides, for each MiB of the subject's texts.
    pub cpu_per_mib: Duration,
    /// Wall time, as a multiple of the CPU time: a busy machine must not fail innocent calls.
    pub wall_factor: u32,
    /// Linear memory and tables in bytes.
    pub memory: u64,
    /// Bytes that the host reads of one answer, or of one line that the policy logs.
    pub output: usize,
}

impl Budget {
    /// Design §6: hundreds of times what an honest policy needs, and short enough that a call that waits for it is
    /// not taken for dead. The output holds an edit for every tenth byte of the largest text.
    pub const DEFAULT: Self = Self {
        cpu: Duration::from_millis(250),
        cpu_per_mib: Duration::from_millis(100),
        wall_factor: 4,
        memory: 64 * MIB,
        output: 16 * 1024 * 1024,
    };

    /// `configure` builds tables from settings and packs, once and off the path of any message.
    pub(crate) fn for_configure(self) -> Allowance {
        let cpu = self.cpu.saturating_mul(CONFIGURE);
        Allowance { cpu, wall: cpu.saturating_mul(self.wall_factor.max(1)) }
    }

    /// Returns what a subject of that size may use.
    pub(crate) fn allowance(self, subject_bytes: usize) -> Allowance {
        let micros = u64::try_from(self.cpu_per_mib.as_micros()).unwrap_or(u64::MAX);
        let extra = micros.saturating_mul(subject_bytes as u64) / MIB;
        let cpu = self.cpu.saturating_add(Duration::from_micros(extra));
        Allowance { cpu, wall: cpu.saturating_mul(self.wall_factor.max(1)) }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

pub(crate) const MIB: u64 = 1024 * 1024;

/// Interpreted languages start their whole interpreter in `configure`: it gets this many times what one evaluation gets.
const CONFIGURE: u32 = 20;

/// The time that one call into a guest may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_subject_gets_more_time() {
        let small = Budget::DEFAULT.allowance(0);
        assert_eq!(small.cpu, Duration::from_millis(250));
        assert_eq!(small.wall, Duration::from_secs(1));
        let large = Budget::DEFAULT.allowance(4 * 1024 * 1024);
        assert_eq!(large.cpu, Duration::from_millis(650));
    }

    #[test]
    fn a_zero_wall_factor_still_leaves_the_cpu_time() {
        let budget = Budget { wall_factor: 0, ..Budget::DEFAULT };
        assert_eq!(budget.allowance(0).wall, budget.cpu);
    }
}

//! What is set between fork and exec.

use std::io;

use landlock::RulesetCreated;
use nix::sys::prctl::set_no_new_privs;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use seccompiler::{BpfProgram, apply_filter};

use super::{Plan, calls, files};

/// What root keeps of its capabilities: to own, read and change files, within the paths that it was given, and to become
/// another user. All others reach past a sandbox or change the system: with `CAP_PERFMON` alone the environment of every
/// process can be read (`capabilities(7)`).
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// All that a plan says, opened and compiled: setting it takes a few system calls.
#[derive(Debug)]
pub(crate) struct Restriction {
    files: Option<RulesetCreated>,
    calls: Option<BpfProgram>,
}

impl Restriction {
    /// Opens the paths and writes the filter. Nothing is confined yet.
    pub(crate) fn prepare(plan: &Plan) -> io::Result<Self> {
        Ok(Self {
            files: (plan.support.landlock > 0).then(|| files::rules(plan)).transpose()?,
            calls: plan.support.seccomp.then(|| calls::filter(plan)).transpose()?,
        })
    }

    /// Confines the calling thread and all that comes from it, for good.
    pub(crate) fn set(&mut self) -> io::Result<()> {
        // Programs that gain rights when they are started, as `sudo`, gain none from here on; a program of root neither.
        set_no_new_privs()?;
        let mut sets = capabilities(None)?;
        for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
            *set = set.intersection(KEPT);
        }
        set_capabilities(None, sets)?;
        if let Some(files) = self.files.take() {
            files.restrict_self().map_err(io::Error::other)?;
        }
        // Last: it refuses calls that the rest could need.
        self.calls.take().map_or(Ok(()), |calls| apply_filter(&calls).map_err(io::Error::other))
    }
}

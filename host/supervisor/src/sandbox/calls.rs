//! System calls that are refused, by seccomp.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::{Network, Plan};

/// The bit that marks calls of the x32 interface, which have numbers of their own on x86-64.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Calls that let a process act through another one or through the kernel, past what is refused to itself, and that no
/// server needs: `io_uring` opens sockets without the calls that are watched here, tracing takes over an unconfined
/// process, keyrings hold secrets of the session.
const NEVER: [i64; 15] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_move_mount,
];

/// Returns the architecture of this build, where filters can be written for it.
pub(super) fn architecture() -> Option<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).ok()
}

/// Returns the filter of a plan.
pub(super) fn filter(plan: &Plan) -> io::Result<BpfProgram> {
    let architecture = architecture().ok_or(io::ErrorKind::Unsupported)?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    let ports = match &plan.network {
        Network::None => {
            no_network(&mut refused, plan.local_sockets)?;
            false
        }
        Network::Ports(_) => true,
        Network::All => false,
    };
    if plan.network != Network::None {
        internet(&mut refused, plan.local_sockets, ports)?;
    }
    #[cfg(target_arch = "x86_64")]
    {
        let again: Vec<_> = refused.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        refused.extend(again);
    }
    let refusal = SeccompAction::Errno(u32::try_from(libc::EACCES).unwrap_or_default());
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refusal, architecture);
    filter.and_then(BpfProgram::try_from).map_err(io::Error::other)
}

/// Refuses every socket, or all but local ones. Pairs of connected streams, by which runtimes talk to their children, stay.
fn no_network(refused: &mut BTreeMap<i64, Vec<SeccompRule>>, local_sockets: bool) -> io::Result<()> {
    if local_sockets {
        refused.insert(libc::SYS_socket, vec![rule(vec![differs(0, libc::AF_UNIX)?])?]);
    } else {
        for call in [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen] {
            refused.insert(call, Vec::new());
        }
    }
    pairs(refused, local_sockets)
}

/// Refuses what is no socket of the internet; with `ports`, all that Landlock's rules for ports do not see.
fn internet(refused: &mut BTreeMap<i64, Vec<SeccompRule>>, local_sockets: bool, ports: bool) -> io::Result<()> {
    // Addresses of the machine are asked for by netlink whenever a name is looked up.
    let mut families = vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    if local_sockets {
        families.push(libc::AF_UNIX);
    }
    let foreign = families.iter().map(|family| differs(0, *family)).collect::<io::Result<Vec<_>>>()?;
    let mut sockets = vec![rule(foreign)?];
    if ports {
        // Multipath TCP, SCTP and raw sockets connect without asking Landlock.
        for family in [libc::AF_INET, libc::AF_INET6] {
            sockets.push(rule(vec![
                equals(0, family)?,
                differs(2, 0)?,
                differs(2, libc::IPPROTO_TCP)?,
                differs(2, libc::IPPROTO_UDP)?,
            ])?);
            for kind in [libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
                // The upper bits are flags.
                sockets.push(rule(vec![equals(0, family)?, masked(1, 0xf, kind)?])?);
            }
        }
        // To listen without an address takes a free port, which no rule for `bind` sees.
        refused.insert(libc::SYS_listen, Vec::new());
        // Data with the first packet connects without `connect`.
        for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            refused.insert(call, vec![rule(vec![masked(flags, FAST_OPEN, libc::MSG_FASTOPEN)?])?]);
        }
    }
    refused.insert(libc::SYS_socket, sockets);
    pairs(refused, local_sockets)
}

const FAST_OPEN: u64 = libc::MSG_FASTOPEN as u64;

/// Refuses pairs that are no local streams: a datagram socket of a pair can be connected anew, to anything.
fn pairs(refused: &mut BTreeMap<i64, Vec<SeccompRule>>, local_sockets: bool) -> io::Result<()> {
    let mut rules = vec![rule(vec![differs(0, libc::AF_UNIX)?])?];
    if !local_sockets {
        let is_stream = |kind| masked(1, 0xf, kind);
        rules.push(rule(vec![is_stream(libc::SOCK_DGRAM)?])?);
        rules.push(rule(vec![is_stream(libc::SOCK_RAW)?])?);
    }
    refused.insert(libc::SYS_socketpair, rules);
    Ok(())
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn equals(argument: u8, value: libc::c_int) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: libc::c_int) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: libc::c_int) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// The kernel takes these arguments as 32 bits, so only they are compared.
fn condition(argument: u8, operator: SeccompCmpOp, value: libc::c_int) -> io::Result<SeccompCondition> {
    let value = u64::try_from(value).map_err(io::Error::other)?;
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

//! What is confined and what is not, in words.

use super::{Network, Plan};

/// What is confined and what is not, in words for the operator: the host's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// What the kernel keeps the server from.
    pub confined: Vec<String>,
    /// What it does not.
    pub open: Vec<String>,
}

impl Confinement {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut told = Self { confined: Vec::new(), open: plan.lacking() };
        let mut say = |is_kept: bool, kept: &str, not: &str| {
            let (list, text) = if is_kept { (&mut told.confined, kept) } else { (&mut told.open, not) };
            if !text.is_empty() {
                list.push(text.to_owned());
            }
        };
        let support = plan.support;
        say(
            support.landlock >= 1,
            "files: reads the system, its runtime and what `read` and `write` give; changes its own folder and what `write` gives",
            "",
        );
        say(
            support.landlock >= 1,
            "memory and environment of other processes",
            "memory and environment of other processes of your user can be read",
        );
        say(
            support.landlock >= 6,
            "signals: only to processes that it started",
            "signals can be sent to any process of your user",
        );
        let own_ports = support.seccomp && support.landlock >= 4;
        match &plan.network {
            Network::None => say(support.seccomp, "network: no socket can be opened", ""),
            Network::Ports(ports) => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                let kept = format!("network: TCP to the ports {} alone, and nothing is listened on", ports.join(", "));
                say(own_ports, &kept, "");
                told.open.push("network: those ports of every host, and UDP, by which names are looked up".to_owned());
            }
            Network::All => told.open.push("network: every host and port (`network: all`)".to_owned()),
        }
        let local = support.seccomp && !plan.local_sockets;
        let mut say = |is_kept: bool, kept: &str, not: &str| {
            let (list, text) = if is_kept { (&mut told.confined, kept) } else { (&mut told.open, not) };
            list.push(text.to_owned());
        };
        say(
            local,
            "local sockets: none can be reached",
            "local sockets: a session bus or a container engine runs programs outside of the sandbox for whoever asks",
        );
        if support.seccomp {
            told.confined.push("tracing of processes, kernel keyrings, io_uring, mounts".to_owned());
        }
        if cfg!(target_os = "linux") {
            told.confined
                .push("rights: none are gained by starting a program; of root's, those over files are left".to_owned());
        }
        told.open.push("the list of processes with their command lines, and use of CPU, memory and disk".to_owned());
        told
    }
}

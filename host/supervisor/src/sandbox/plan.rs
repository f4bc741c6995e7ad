//! What the supervisor is told to set.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::{Confinement, Network, Support};

/// What is set around a server: sandbox and kernel put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its sockets.
    pub(super) network: Network,
    /// What it may read and run.
    pub(super) read: Vec<PathBuf>,
    /// What it may read, change and run.
    pub(super) write: Vec<PathBuf>,
    /// True where sockets in the file system are open to it.
    pub(super) local_sockets: bool,
    /// What the kernel keeps.
    pub(super) support: Support,
}

impl Plan {
    /// Returns what is confined and what is not, in words for the operator.
    pub fn confinement(&self) -> Confinement {
        Confinement::of(self)
    }

    /// Returns what is wanted and cannot be kept.
    pub(super) fn lacking(&self) -> Vec<String> {
        let mut lacking = Vec::new();
        match self.support.landlock {
            0 => lacking.push("files are not confined: the kernel has no Landlock, or it is switched off".to_owned()),
            1 | 2 => lacking.push("files can be truncated: Landlock of this kernel is older than Linux 6.2".to_owned()),
            _ => {}
        }
        if !self.support.seccomp {
            lacking.push("sockets are not confined: there is no seccomp filter for this system".to_owned());
        }
        if matches!(self.network, Network::Ports(_)) && self.support.landlock < 4 {
            lacking.push("ports are not confined: Landlock of this kernel is older than Linux 6.7".to_owned());
        }
        lacking
    }

    /// Returns the plan as texts, for the launch block.
    pub(crate) fn encode(&self) -> Vec<OsString> {
        let word = |kind: &str, value: &OsStr| {
            let mut text = OsString::from(kind);
            text.push(" ");
            text.push(value);
            text
        };
        let mut texts = vec![
            word("landlock", OsStr::new(&self.support.landlock.to_string())),
            word("seccomp", OsStr::new(&self.support.seccomp.to_string())),
            word("local", OsStr::new(&self.local_sockets.to_string())),
        ];
        match &self.network {
            Network::None => texts.push(word("network", OsStr::new("none"))),
            Network::All => texts.push(word("network", OsStr::new("all"))),
            Network::Ports(ports) => texts.extend(ports.iter().map(|port| word("port", OsStr::new(&port.to_string())))),
        }
        texts.extend(self.read.iter().map(|path| word("read", path.as_os_str())));
        texts.extend(self.write.iter().map(|path| word("write", path.as_os_str())));
        texts
    }

    /// Reads texts of a launch block; nothing where one of them is not known: a rule must not get lost.
    pub(crate) fn decode(texts: &[OsString]) -> Option<Self> {
        let (mut landlock, mut seccomp, mut local_sockets, mut network) = (None, None, None, None);
        let (mut ports, mut read, mut write) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let bytes = text.as_bytes();
            let space = bytes.iter().position(|byte| *byte == b' ')?;
            let (kind, value) = (bytes.get(..space)?, bytes.get(space + 1..)?);
            let path = || PathBuf::from(OsString::from_vec(value.to_vec()));
            let value_text = std::str::from_utf8(value).ok();
            match kind {
                b"landlock" => landlock = Some(value_text?.parse().ok()?),
                b"seccomp" => seccomp = Some(value_text?.parse().ok()?),
                b"local" => local_sockets = Some(value_text?.parse().ok()?),
                b"network" if value == b"none" => network = Some(Network::None),
                b"network" if value == b"all" => network = Some(Network::All),
                b"port" => ports.push(value_text?.parse().ok()?),
                b"read" => read.push(path()),
                b"write" => write.push(path()),
                _ => return None,
            }
        }
        let network = match (network, ports.is_empty()) {
            (Some(network), true) => network,
            (None, false) => Network::Ports(ports),
            _ => return None,
        };
        let support = Support { landlock: landlock?, seccomp: seccomp? };
        Some(Self { network, read, write, local_sockets: local_sockets?, support })
    }
}

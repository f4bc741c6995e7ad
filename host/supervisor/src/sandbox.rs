//! What a server may reach besides its three streams, kept by the kernel.
//!
//! A [`Sandbox`] is what the operator wants. [`Sandbox::plan`] asks the running kernel what it can do and makes a
//! [`Plan`] of it: the paths, ports and rules that the supervisor sets between fork and exec, and the words for what is
//! confined by them and what is not ([`Confinement`]). The plan is the whole truth: a part of it that cannot be set
//! means that the server is not started.
//!
//! Files are confined by Landlock, sockets by a seccomp filter and, port by port, by Landlock again. Both stay with the
//! server and all that comes from it, and neither can be given up. See the README for what they do not confine.

#[cfg(target_os = "linux")]
mod calls;
mod confinement;
#[cfg(target_os = "linux")]
mod files;
mod plan;
mod preset;
#[cfg(target_os = "linux")]
mod restriction;
mod support;

use std::path::{Path, PathBuf};

pub use confinement::Confinement;
pub use plan::Plan;
#[cfg(target_os = "linux")]
pub(crate) use restriction::Restriction;
pub use support::Support;

/// Which sockets a server may open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// None.
    None,
    /// TCP connections to these ports, of whatever host; names are looked up. Nothing can be listened on.
    Ports(Vec<u16>),
    /// Those of the internet, in both directions.
    All,
}

/// What a server may reach, as the operator wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Its sockets.
    pub network: Network,
    /// Files and folders that it may read and run besides those of the preset.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may read, change and run.
    pub write: Vec<PathBuf>,
    /// True where it may reach sockets in the file system: of a session bus, an agent for keys, a container engine.
    pub local_sockets: bool,
    /// True where it is not started unless all that is wanted can be kept.
    pub strict: bool,
    /// Its own home folder, which it may change. It must exist.
    pub own: PathBuf,
    /// Folders of which nothing but `own` may be reached, such as the gateway's.
    pub protected: Vec<PathBuf>,
}

/// Why a server cannot be started in its sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A path of the config cannot be opened.
    #[error("the sandbox cannot give `{}`", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A path of the config leads to a folder that no server may reach.
    #[error("the sandbox must not give `{}`: it would open `{}`, which is the gateway's own", path.display(), protected.display())]
    Protected {
        /// The path.
        path: PathBuf,
        /// The folder.
        protected: PathBuf,
    },
    /// The kernel cannot keep what is wanted.
    #[error("this system cannot confine it: {lacking} (`sandbox: {{strict: false}}` starts it all the same)")]
    Unsupported {
        /// What is missing.
        lacking: String,
    },
}

impl Sandbox {
    /// Plans the start of a program, whose file was found already, on a kernel that can do so much.
    pub fn plan(&self, support: Support, program: &Path) -> Result<Plan, SandboxError> {
        let mut read = preset::read(program);
        let mut write = preset::write();
        for (wanted, list) in [(&self.read, &mut read), (&self.write, &mut write)] {
            for path in wanted {
                self.check(path)?;
                list.push(path.clone());
            }
        }
        write.push(self.own.clone());
        let plan = Plan { network: self.network.clone(), read, write, local_sockets: self.local_sockets, support };
        let lacking = plan.lacking();
        if self.strict && !lacking.is_empty() {
            return Err(SandboxError::Unsupported { lacking: lacking.join("; ") });
        }
        Ok(plan)
    }

    /// Checks a path of the config: it must exist, and neither hold a protected folder nor be in one.
    fn check(&self, path: &Path) -> Result<(), SandboxError> {
        let real = path.canonicalize().map_err(|source| SandboxError::Path { path: path.to_owned(), source })?;
        for protected in &self.protected {
            let folder = protected.canonicalize().unwrap_or_else(|_| protected.clone());
            if real.starts_with(&folder) || folder.starts_with(&real) {
                return Err(SandboxError::Protected { path: path.to_owned(), protected: protected.clone() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

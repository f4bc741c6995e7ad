//! How the program ends.

use std::process::ExitCode;

/// What the exit code of the program says. The numbers are stable: scripts may rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// It did what was asked; a gateway was ended by its client or by a signal.
    Success = 0,
    /// What was asked to be checked does not hold: a config with errors, a server that fails its test, a demo in which
    /// something was not stopped, a policy that broke.
    Failed = 1,
    /// The command line could not be understood.
    Usage = 2,
    /// The config could not be read, or nothing in it can be used.
    Config = 3,
    /// The home folder or the database in it could not be used.
    State = 4,
    /// No set of policies could be published.
    Policies = 5,
    /// The gateway could not serve its client.
    Gateway = 6,
    /// A gate refused what was asked: a server entry was not saved, a call was not made, a result was not released.
    Refused = 7,
    /// The tool that was called answered with an error.
    ToolError = 8,
    /// The server could not be reached, or did not answer.
    Unreachable = 9,
    /// A mistake of this program.
    Internal = 70,
}

impl Exit {
    /// Returns a word for it, for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Config => "config",
            Self::State => "state",
            Self::Policies => "policies",
            Self::Gateway => "gateway",
            Self::Refused => "refused",
            Self::ToolError => "tool-error",
            Self::Unreachable => "unreachable",
            Self::Internal => "internal",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

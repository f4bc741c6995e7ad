//! Why a policy did not come to be.

use portcullis_gates::Fault;
use portcullis_model::PolicyName;

use crate::loader::LoadError;
use crate::template::StartError;

/// A policy did not come to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Its module, settings or packs are no good.
    #[error("it could not be loaded")]
    Load(#[from] LoadError),
    /// A key signed it, and its version is older than one that was seen.
    #[error("version {version} of it is older than {seen}, which was seen before; hint: `portcullis policy rollback`")]
    Older {
        /// Its version.
        version: String,
        /// The version seen.
        seen: String,
    },
    /// It calls itself otherwise.
    #[error("it calls itself `{0}`; hint: name the file after it")]
    Name(PolicyName),
    /// It failed its self-test.
    #[error("it failed its self-test")]
    SelfTest(#[source] SelfTestError),
}

impl PolicyError {
    /// Returns the step at which it failed.
    pub(super) fn step(&self) -> &'static str {
        match self {
            Self::Load(LoadError::Inspect(_) | LoadError::NotGranted { .. }) | Self::Older { .. } | Self::Name(_) => {
                "verify"
            }
            Self::Load(LoadError::Compile(_) | LoadError::Link(_) | LoadError::Thread(_)) => "compile",
            Self::Load(LoadError::Start(_)) => "configure",
            Self::SelfTest(_) => "self-test",
        }
    }

    /// Returns true where the same may go well another time.
    pub(super) fn is_of_the_moment(&self) -> bool {
        matches!(
            self,
            Self::Load(
                LoadError::Thread(_)
                    | LoadError::Start(StartError::Fault { fault: Fault::QueueFull | Fault::Deadline { .. }, .. })
            )
        )
    }
}

/// What a self-test found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelfTestError(pub String);

//! What happened to policies, for status and log.

use portcullis_model::PolicyName;

/// Something that happened to the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyEvent {
    /// A policy is ready, in place of what had its name before.
    Loaded {
        /// Its name.
        policy: PolicyName,
        /// Its version.
        version: String,
        /// How its evaluations start.
        start: String,
        /// True where its code came from the cache.
        cached: bool,
    },
    /// A policy is no longer there.
    Removed {
        /// Its name.
        policy: PolicyName,
    },
    /// Something was refused and changed nothing.
    Refused {
        /// The policy or file.
        what: String,
        /// Why, with its causes.
        reason: String,
    },
    /// An operator went back to a former policy, or forth again.
    Moved {
        /// Its name.
        policy: PolicyName,
        /// The version that judged before.
        from: String,
        /// The version that judges now.
        to: String,
    },
    /// A new set judges from now on.
    Published {
        /// Its generation.
        generation: u64,
    },
    /// Something that an operator should look at.
    Alarm {
        /// The policy or file.
        what: String,
        /// Why.
        reason: String,
    },
}

impl PolicyEvent {
    /// Writes the event to the log.
    pub(crate) fn log(&self) {
        match self {
            Self::Loaded { policy, version, start, cached } => {
                tracing::info!(target: "portcullis::policies", %policy, version, start, cached, "policy loaded");
            }
            Self::Removed { policy } => tracing::info!(target: "portcullis::policies", %policy, "policy removed"),
            Self::Refused { what, reason } => {
                tracing::warn!(target: "portcullis::policies", what, reason, "refused; nothing changes by it");
            }
            Self::Moved { policy, from, to } => {
                tracing::warn!(target: "portcullis::policies", %policy, from, to, "an operator moved a policy");
            }
            Self::Published { generation } => {
                tracing::info!(target: "portcullis::policies", generation, "policies published");
            }
            Self::Alarm { what, reason } => tracing::warn!(target: "portcullis::alarm", what, reason, "alarm"),
        }
    }
}

/// Writes an error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

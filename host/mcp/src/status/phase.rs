//! Where a server is in its life, and where it may go from there.

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Named in the config and not running: not started yet, or to be started by the next call (the reason says so).
    #[default]
    Configured,
    /// Being screened, started, connected, listed or scanned.
    Connecting,
    /// Connected, and its items are published.
    Ready,
    /// Connected and published, but not whole: a list failed, or calls to it fail. The reason says which.
    Degraded,
    /// It could not be reached, or it ended; another try is due. What it offered stays published.
    CoolingDown,
    /// It could not be reached so often, or for such a reason, that what it offered is withdrawn. It is tried again
    /// seldom, or only after a change; the reason says which.
    Parked,
    /// The config gate refused it, or a new policy set stopped it.
    Denied,
    /// Switched off in the config, by safe mode, or by the end of the gateway.
    Disabled,
}

impl Phase {
    /// Every phase, in the order of a life.
    pub const ALL: [Self; 8] = [
        Self::Configured,
        Self::Connecting,
        Self::Ready,
        Self::Degraded,
        Self::CoolingDown,
        Self::Parked,
        Self::Denied,
        Self::Disabled,
    ];

    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::CoolingDown => "cooling-down",
            Self::Parked => "parked",
            Self::Denied => "denied",
            Self::Disabled => "disabled",
        }
    }

    /// Returns true where the server is connected and its items are published.
    pub fn is_up(self) -> bool {
        matches!(self, Self::Ready | Self::Degraded)
    }

    /// Returns true where the server is wanted and cannot be had now.
    pub fn is_down(self) -> bool {
        matches!(self, Self::CoolingDown | Self::Parked | Self::Denied)
    }

    /// Returns true once the first try to reach the server has ended, well or not.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Configured | Self::Connecting)
    }

    /// Returns true where a server may go from this phase to that one. To stay with another reason is always allowed.
    pub(crate) fn may_become(self, next: Self) -> bool {
        use Phase::{Configured, Connecting, CoolingDown, Degraded, Denied, Disabled, Parked, Ready};

        if self == next {
            return true;
        }
        match self {
            // A sleeping server is judged again by each new policy set.
            Configured => !matches!(next, Ready | Degraded),
            // Back to `Configured`: it sleeps until a call needs it, and what it offers is known. From `Ready` to
            // `Connecting`: a session that was lost is replaced at once.
            Connecting | Ready | Degraded => true,
            CoolingDown | Parked | Denied => matches!(next, Connecting | Disabled),
            // A server that is switched on again is another one, with options of its own.
            Disabled => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_goes_only_where_the_table_says() {
        // A row a phase, a column a phase to go to, both in the order of a life.
        let table = [
            ("configured", "yes yes --- --- yes yes yes yes"),
            ("connecting", "yes yes yes yes yes yes yes yes"),
            ("ready", "yes yes yes yes yes yes yes yes"),
            ("degraded", "yes yes yes yes yes yes yes yes"),
            ("cooling-down", "--- yes --- --- yes --- --- yes"),
            ("parked", "--- yes --- --- --- yes --- yes"),
            ("denied", "--- yes --- --- --- --- yes yes"),
            ("disabled", "--- --- --- --- --- --- --- yes"),
        ];
        for (phase, (name, row)) in Phase::ALL.into_iter().zip(table) {
            assert_eq!(phase.as_str(), name);
            for (next, allowed) in Phase::ALL.into_iter().zip(row.split(' ')) {
                assert_eq!(phase.may_become(next), allowed == "yes", "{name} to {}", next.as_str());
            }
        }
    }
}

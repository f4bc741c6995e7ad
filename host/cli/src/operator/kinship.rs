//! Whether the process at the other end of a socket may belong to the client whose calls this gateway carries.

use std::fs::read_to_string;
use std::io;

use tokio::net::UnixStream;

/// A process has so few ancestors that are not all the same loop.
const MOST_ANCESTORS: usize = 64;

/// What the process at the other end is to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinship {
    /// This process is among its ancestors: it is what a server of this gateway runs.
    below: bool,
    /// Both may have been started by the same client.
    siblings: bool,
}

impl Kinship {
    /// Looks at the process at the other end, now: later its number may be another one's. What cannot be told counts as kin.
    pub(super) fn of(stream: &UnixStream) -> Self {
        Self::find(stream).unwrap_or(Self { below: true, siblings: true })
    }

    fn find(stream: &UnixStream) -> io::Result<Self> {
        let pid = stream.peer_cred()?.pid().ok_or(io::ErrorKind::Unsupported)?;
        let peer = Line::of(&pid.to_string())?;
        let own = Line::of("self")?;
        Ok(Self { below: peer.ancestors.contains(&i64::from(std::process::id())), siblings: own.meets(&peer) })
    }

    /// Returns true where the other end comes from a server of this gateway.
    pub(super) fn is_below(self) -> bool {
        self.below
    }

    /// Returns true where the other end may have been started by the client that started this gateway.
    pub(super) fn may_be_one_client(self) -> bool {
        self.below || self.siblings
    }
}

/// A process with those above it, the nearest first; the first process of the system is left out.
#[derive(Debug)]
struct Line {
    session: i64,
    ancestors: Vec<i64>,
}

impl Line {
    fn of(pid: &str) -> io::Result<Self> {
        let (mut parent, session) = parent_and_session(pid)?;
        let mut ancestors = Vec::new();
        while parent > 1 && ancestors.len() < MOST_ANCESTORS {
            ancestors.push(parent);
            parent = parent_and_session(&parent.to_string())?.0;
        }
        Ok(Self { session, ancestors })
    }

    /// Returns true where one client may have started both: they are of one session, or who started one of them is above
    /// the other. Two clients that a person started share at most what started those, such as a desktop.
    fn meets(&self, other: &Self) -> bool {
        let started =
            |one: &Self, other: &Self| one.ancestors.first().is_some_and(|parent| other.ancestors.contains(parent));
        self.session == other.session || started(self, other) || started(other, self)
    }
}

/// Returns fields 4 and 6 of `/proc/PID/stat` (`proc(5)`): the parent and the session. The second field, a name that the
/// process chooses, ends with the last parenthesis.
fn parent_and_session(pid: &str) -> io::Result<(i64, i64)> {
    let stat = read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_ascii_whitespace().skip(1).map(str::parse::<i64>);
    let (parent, _group, session) = (fields.next(), fields.next(), fields.next());
    match (parent, session) {
        (Some(Ok(parent)), Some(Ok(session))) => Ok((parent, session)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: i64, ancestors: &[i64]) -> Line {
        Line { session, ancestors: ancestors.to_vec() }
    }

    #[test]
    fn what_one_client_started_is_kin_and_what_two_did_is_not() {
        let gateway = line(10, &[100, 50, 7]);
        assert!(gateway.meets(&line(10, &[200, 50, 7])), "one session");
        assert!(gateway.meets(&line(11, &[100, 50, 7])), "one parent");
        assert!(gateway.meets(&line(11, &[300, 100, 7])), "a shell between");
        assert!(line(11, &[300, 100, 7]).meets(&gateway), "a shell on the other side");
        assert!(!gateway.meets(&line(11, &[200, 60, 7])), "two clients of one desktop");
    }

    #[tokio::test]
    async fn a_process_is_kin_to_itself() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(Kinship::of(&one).may_be_one_client());
        assert_eq!(Line::of("self").unwrap().session, i64::from(nix::unistd::getsid(None).unwrap().as_raw()));
    }
}

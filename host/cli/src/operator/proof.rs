//! What an operator proves besides being the same user.

use std::io;

use tokio::net::UnixStream;

use super::passphrase::Passphrase;

/// What an operator proves besides being the same user.
#[derive(Clone, Debug)]
pub(super) enum Proof {
    /// Nothing.
    None,
    /// That they sit at a terminal which is not the gateway's own: what a client's shell or a server runs does not.
    Terminal,
    /// That they know the passphrase; nothing where none was set, so that nobody can.
    Passphrase(Option<Passphrase>),
}

/// Returns true where the other end of a connection runs as the same user.
pub(super) fn is_same_user(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == nix::unistd::geteuid().as_raw())
}

/// Returns true where the other end has a controlling terminal and belongs to another session than this process.
pub(super) fn is_at_another_terminal(stream: &UnixStream) -> io::Result<bool> {
    let Some(pid) = stream.peer_cred()?.pid() else {
        return Ok(false);
    };
    let own = session_and_terminal("self")?;
    let peer = session_and_terminal(&pid.to_string())?;
    Ok(match (peer, own) {
        (Some((session, terminal)), Some((own, _))) => terminal != 0 && session != own,
        _ => false,
    })
}

/// Returns session and controlling terminal of a process, as `proc(5)` describes fields 6 and 7 of `stat`. The second
/// field, a name that the process chooses, ends with the last parenthesis.
fn session_and_terminal(pid: &str) -> io::Result<Option<(i64, i64)>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_ascii_whitespace().skip(3).map(str::parse);
    Ok(match (fields.next(), fields.next()) {
        (Some(Ok(session)), Some(Ok(terminal))) => Some((session, terminal)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_the_same_session_is_not_at_another_terminal() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (one, _other) = UnixStream::pair().unwrap();
            assert!(is_same_user(&one).unwrap());
            assert!(!is_at_another_terminal(&one).unwrap());
        });
        let (session, _) = session_and_terminal("self").unwrap().unwrap();
        assert_eq!(session, i64::from(nix::unistd::getsid(None).unwrap().as_raw()));
    }
}

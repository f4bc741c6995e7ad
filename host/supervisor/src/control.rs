//! What the gateway and the supervisor say to each other over their socket.
//!
//! The gateway sends one launch block, then at most [`STOP`]. The supervisor sends [`Event`]s and closes the socket
//! when it ends, which it does only after every descendant has.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The byte by which the gateway asks for the end of the server.
pub const STOP: u8 = b'T';

/// The most bytes of a launch block. Linux lets a process start with about 2 MiB of arguments and variables.
pub const LARGEST_LAUNCH: usize = 4 * 1024 * 1024;

/// Something that the supervisor reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server runs, under this process id, which is also the id of its process group.
    Started(i32),
    /// The server could not be started; the operating system's error number.
    Failed(i32),
    /// The server ended with this exit code. Descendants of it may still be running for some seconds.
    Exited(i32),
    /// The server was ended by this signal.
    Killed(i32),
}

impl Event {
    /// Length of an event on the socket.
    pub const LENGTH: usize = 5;

    /// Returns the event's bytes.
    pub fn encode(self) -> [u8; Self::LENGTH] {
        let (kind, number) = match self {
            Self::Started(number) => (b'S', number),
            Self::Failed(number) => (b'F', number),
            Self::Exited(number) => (b'X', number),
            Self::Killed(number) => (b'K', number),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    /// Reads an event; nothing for bytes that are none.
    pub fn decode([kind, a, b, c, d]: [u8; Self::LENGTH]) -> Option<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            b'S' => Some(Self::Started(number)),
            b'F' => Some(Self::Failed(number)),
            b'X' => Some(Self::Exited(number)),
            b'K' => Some(Self::Killed(number)),
            _ => None,
        }
    }
}

/// What the supervisor is told besides its arguments. It goes over the socket, so that the variables of the server
/// neither act on the supervisor nor stand in its own environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The file to run, where it is not the command itself.
    pub(crate) file: OsString,
    /// The working directory; empty for the gateway's.
    pub(crate) working_directory: OsString,
    /// What of it is confined, where anything is: [`Plan`](crate::sandbox::Plan) as texts.
    pub(crate) sandbox: Vec<OsString>,
    /// The whole environment of the server.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// Returns the block, or nothing where a text has a NUL or all are too long.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        let mut push = |text: &OsStr| {
            let fits = !text.as_bytes().contains(&0);
            body.extend_from_slice(text.as_bytes());
            body.push(0);
            fits
        };
        let mut fits = push(&self.file) && push(&self.working_directory);
        fits &= push(OsStr::new(&self.sandbox.len().to_string()));
        for text in &self.sandbox {
            fits &= push(text);
        }
        for (name, value) in &self.environment {
            fits &= push(name) && push(value);
        }
        let length = u32::try_from(body.len()).ok().filter(|_| fits && body.len() <= LARGEST_LAUNCH)?;
        let mut block = length.to_le_bytes().to_vec();
        block.append(&mut body);
        Some(block)
    }

    /// Reads the body of a block.
    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut texts = body.strip_suffix(&[0])?.split(|byte| *byte == 0).map(|text| OsString::from_vec(text.to_vec()));
        let (file, working_directory) = (texts.next()?, texts.next()?);
        let rules: usize = texts.next()?.to_str()?.parse().ok()?;
        let sandbox: Vec<OsString> = texts.by_ref().take(rules).collect();
        if sandbox.len() != rules {
            return None;
        }
        let mut environment = Vec::new();
        while let Some(name) = texts.next() {
            environment.push((name, texts.next()?));
        }
        Some(Self { file, working_directory, sandbox, environment })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_the_socket() {
        for event in [Event::Started(77), Event::Failed(2), Event::Exited(3), Event::Killed(9), Event::Exited(-1)] {
            assert_eq!(Event::decode(event.encode()), Some(event));
        }
        assert_eq!(Event::decode([b'?', 0, 0, 0, 0]), None);
    }

    #[test]
    fn a_launch_survives_the_socket() {
        let launch = Launch {
            file: "/bin/true".into(),
            working_directory: OsString::new(),
            sandbox: vec!["network none".into(), "read /usr".into()],
            environment: vec![("A".into(), "1=2".into()), ("EMPTY".into(), OsString::new())],
        };
        let block = launch.encode().unwrap();
        assert_eq!(Launch::decode(&block[4..]), Some(launch));
    }

    #[test]
    fn a_launch_with_a_nul_or_without_an_end_is_refused() {
        assert_eq!(Launch { file: "a\0b".into(), ..Launch::default() }.encode(), None);
        assert_eq!(Launch::decode(b"/bin/true\0"), None);
        assert_eq!(Launch::decode(b"/bin/true"), None);
        assert_eq!(Launch::decode(b"/bin/true\0\0NAME\0"), None);
        assert_eq!(Launch::decode(b"/bin/true\0\0" as &[u8]), None);
        assert_eq!(Launch::decode(b"/bin/true\0\x003\0read /\0"), None);
        assert_eq!(Launch::decode(b"/bin/true\0\x000\0NAME\0"), None);
    }
}

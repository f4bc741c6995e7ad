//! What an operator proves besides being the same user.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;

use portcullis_store::Home;
use ring::pbkdf2;
use tokio::net::UnixStream;

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

/// A passphrase that was set: what is kept of it.
#[derive(Clone)]
pub(crate) struct Passphrase {
    rounds: NonZeroU32,
    salt: [u8; SALT],
    derived: [u8; DERIVED],
}

/// Rounds of PBKDF2 with HMAC-SHA-256: what OWASP's password storage cheat sheet asks for (600,000, edition of 2023).
const ROUNDS: NonZeroU32 = NonZeroU32::new(600_000).expect("it is not zero");

/// Fewer or more rounds in the file are a mistake or an attack.
const SENSIBLE_ROUNDS: std::ops::RangeInclusive<u32> = 600_000..=10_000_000;

/// Bytes of salt; NIST SP 800-132 asks for 16 at least.
const SALT: usize = 16;

/// Bytes that are derived: the output of the hash.
const DERIVED: usize = 32;

/// A passphrase has so many characters at least. It guards against programs of the same user, which can try offline what
/// they can read.
const SHORTEST: usize = 8;

/// And so many bytes at most.
const LONGEST: usize = 1_024;

/// A passphrase could not be set or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PassphraseError {
    /// It is too short or too long.
    #[error("a passphrase has {SHORTEST} characters at least and {LONGEST} bytes at most")]
    Length,
    /// The file is not what was written.
    #[error("`{0}` holds no passphrase; hint: set it again with `portcullis approvals passphrase`")]
    Malformed(PathBuf),
    /// The file could not be read or written, or there is no randomness.
    #[error("`{path}` cannot be used")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Passphrase {
    fn path(home: &Home) -> PathBuf {
        home.path().join("approvals.passphrase")
    }

    /// Sets the passphrase of a home, in the place of an earlier one. Takes a few hundred milliseconds.
    pub(crate) fn set(home: &Home, text: &str) -> Result<(), PassphraseError> {
        let passphrase = Self::derive(text)?;
        let path = Self::path(home);
        let failed = |source| PassphraseError::File { path: path.clone(), source };
        let mut line = format!("pbkdf2-hmac-sha256 {} ", passphrase.rounds);
        write_hex(&mut line, &passphrase.salt);
        line.push(' ');
        write_hex(&mut line, &passphrase.derived);
        line.push('\n');
        // Created with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(home.path()).map_err(failed)?;
        file.write_all(line.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Removes the passphrase of a home. Returns true where there was one.
    pub(crate) fn remove(home: &Home) -> Result<bool, PassphraseError> {
        let path = Self::path(home);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(PassphraseError::File { path, source }),
        }
    }

    /// Reads what is kept of the passphrase of a home; nothing where none is set.
    pub(crate) fn read(home: &Home) -> Result<Option<Self>, PassphraseError> {
        let path = Self::path(home);
        let mut options = std::fs::OpenOptions::new();
        options.read(true);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NOFOLLOW);
        let file = match options.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(PassphraseError::File { path, source }),
        };
        let mut line = String::new();
        let read = file.take(1_024).read_to_string(&mut line);
        read.map_err(|source| PassphraseError::File { path: path.clone(), source })?;
        Self::parse(&line).map(Some).ok_or(PassphraseError::Malformed(path))
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (Some("pbkdf2-hmac-sha256"), Some(rounds), Some(salt), Some(derived), None) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return None;
        };
        let rounds = rounds.parse().ok().filter(|rounds| SENSIBLE_ROUNDS.contains(rounds))?;
        Some(Self { rounds: NonZeroU32::new(rounds)?, salt: read_hex(salt)?, derived: read_hex(derived)? })
    }

    fn derive(text: &str) -> Result<Self, PassphraseError> {
        if text.chars().count() < SHORTEST || text.len() > LONGEST {
            return Err(PassphraseError::Length);
        }
        let mut salt = [0; SALT];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut salt).map_err(|_| PassphraseError::File {
            path: PathBuf::from("the system's randomness"),
            source: io::Error::other("there is none"),
        })?;
        let mut derived = [0; DERIVED];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, &salt, text.as_bytes(), &mut derived);
        Ok(Self { rounds: ROUNDS, salt, derived })
    }

    /// Returns true where the text is the passphrase. Takes a few hundred milliseconds.
    pub(crate) fn is(&self, text: &str) -> bool {
        text.len() <= LONGEST
            && pbkdf2::verify(pbkdf2::PBKDF2_HMAC_SHA256, self.rounds, &self.salt, text.as_bytes(), &self.derived)
                .is_ok()
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Passphrase(…)")
    }
}

fn write_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
}

fn read_hex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    if text.len() != LENGTH * 2 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_known_again_and_nothing_else_is_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(Passphrase::read(&home).unwrap().is_none());
        Passphrase::set(&home, "correct horse").unwrap();
        let set = Passphrase::read(&home).unwrap().unwrap();
        assert!(set.is("correct horse") && !set.is("correct horsf") && !set.is(""));
        let path = Passphrase::path(&home);
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("horse"));
        assert!(Passphrase::parse(&text.replace("600000", "1000")).is_none(), "fewer rounds are no passphrase");
        assert!(Passphrase::remove(&home).unwrap() && !Passphrase::remove(&home).unwrap());
    }

    #[test]
    fn a_short_passphrase_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(matches!(Passphrase::set(&home, "short"), Err(PassphraseError::Length)));
    }

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

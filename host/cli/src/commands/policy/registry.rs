//! What pushing and pulling share.

use std::path::Path;

use portcullis_oci::{Credentials, Place, Registry};

use crate::arguments::RegistryAccess;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// A password file has one line. What is larger is none, and is not read.
const LARGEST_PASSWORD: u64 = 64 * 1024;

/// Memory for the data of a process that speaks to a registry: the largest artifact, its archive unpacked, and as much again.
/// A registry that sends without end fills this process and no other.
#[cfg(target_os = "linux")]
const MOST_MEMORY: u64 = 1024 * 1024 * 1024;

/// Parses a place.
pub(super) fn place(text: &str) -> Result<Place, Failure> {
    Place::parse(text).or_exit(Exit::Usage, format!("reading the place `{text}`"))
}

/// Makes ready to speak to the registry of a place.
pub(super) fn registry(place: &Place, access: &RegistryAccess) -> Result<Registry, Failure> {
    limit_memory()?;
    let credentials = match (&access.registry_user, &access.registry_password_file) {
        (Some(username), Some(file)) => Some(Credentials { username: username.clone(), password: first_line(file)? }),
        _ => None,
    };
    Registry::of(place, credentials).or_exit(Exit::Failed, "starting the client of registries")
}

fn first_line(file: &Path) -> Result<String, Failure> {
    use std::io::{BufRead as _, BufReader, Read as _};
    let mut line = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(LARGEST_PASSWORD).read_line(&mut line)
    } else {
        std::fs::File::open(file).and_then(|file| BufReader::new(file.take(LARGEST_PASSWORD)).read_line(&mut line))
    };
    read.or_exit(Exit::Usage, "reading the password for the registry")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Bounds the memory of this process. Where the system has no such bound, what a registry sends without end is cut off by time.
fn limit_memory() -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let doing = "bounding the memory of this process";
        let (soft, hard) = getrlimit(Resource::RLIMIT_DATA).or_exit(Exit::Internal, doing)?;
        setrlimit(Resource::RLIMIT_DATA, soft.min(MOST_MEMORY), hard).or_exit(Exit::Internal, doing)?;
    }
    Ok(())
}

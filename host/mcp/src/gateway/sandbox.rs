//! From the sandbox of the config to that of a start: a server in one gets a home of its own.

use std::io;
use std::path::{Path, PathBuf};

use portcullis_config::Network;
use portcullis_model::{Digest, ServerName};
use portcullis_supervisor::sandbox;

use crate::upstream::TEMPORARY;

/// Makes the home of a server, where it is not there, and returns its sandbox. What the server keeps in its home stays
/// for its next start, and for others of its name that run at the same time.
pub(crate) fn prepare(
    wanted: &portcullis_config::Sandbox,
    folder: &Path,
    server: &ServerName,
    protected: &[PathBuf],
) -> io::Result<sandbox::Sandbox> {
    let own = folder.join(folder_name(server));
    private_folder(&own)?;
    let temporary = own.join(TEMPORARY);
    // The server wrote there: it may have put a link in its place, which is removed and not followed.
    match std::fs::symlink_metadata(&temporary) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => std::fs::remove_file(&temporary)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    private_folder(&temporary)?;
    let network = match &wanted.network {
        Network::None => sandbox::Network::None,
        Network::Ports(ports) => sandbox::Network::Ports(ports.clone()),
        Network::All => sandbox::Network::All,
    };
    Ok(sandbox::Sandbox {
        network,
        read: wanted.read.clone(),
        write: wanted.write.clone(),
        local_sockets: wanted.local_sockets,
        strict: wanted.strict,
        own,
        protected: protected.to_vec(),
    })
}

/// A name of the config may be any text: where letters, digits, `-` and `_` are not all of it, a digest tells two apart.
fn folder_name(server: &ServerName) -> String {
    let name = server.as_str();
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    if name.len() <= 64 && name.chars().all(plain) {
        return name.to_owned();
    }
    let kept: String = name.chars().map(|one| if plain(one) { one } else { '_' }).take(40).collect();
    format!("{kept}-{}", Digest::of(name.as_bytes()).short())
}

#[cfg(unix)]
fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).unwrap()
    }

    #[test]
    fn each_server_has_a_folder_of_its_own_whatever_its_name_is() {
        assert_eq!(folder_name(&name("files")), "files");
        let odd = ["my files", "my/files", "my.files"].map(|text| folder_name(&name(text)));
        assert!(odd.iter().all(|folder| !folder.contains(['/', '.', ' '])), "{odd:?}");
        assert!(odd[0] != odd[1] && odd[1] != odd[2], "{odd:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_that_a_server_left_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = portcullis_config::Sandbox::default();
        let first = prepare(&wanted, folder.path(), &name("a"), &[]).unwrap();
        std::fs::remove_dir(first.own.join(TEMPORARY)).unwrap();
        std::os::unix::fs::symlink("/etc", first.own.join(TEMPORARY)).unwrap();
        let second = prepare(&wanted, folder.path(), &name("a"), &[]).unwrap();
        assert_eq!(first, second);
        assert!(std::fs::symlink_metadata(second.own.join(TEMPORARY)).unwrap().is_dir());
    }
}

//! The gateways of a home that run.

use std::io;
use std::path::PathBuf;

use portcullis_store::{Home, HomeError};

use super::{Connection, ConnectionError, FOLDER};

/// More sockets than this are not looked at: a home has a handful of gateways.
const MOST_GATEWAYS: usize = 256;

/// The gateways of a home that run.
#[derive(Debug)]
pub(crate) struct Gateways {
    folder: PathBuf,
}

impl Gateways {
    /// Opens the folder of a home in which gateways listen.
    pub(crate) fn of(home: &Home) -> Result<Self, HomeError> {
        Ok(Self { folder: home.folder(FOLDER)? })
    }

    /// Returns the path of the socket of this process: one that no other has, even where process ids repeat.
    pub(super) fn own(&self) -> PathBuf {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        self.folder.join(format!("{}-{:x}.sock", std::process::id(), now.as_micros()))
    }

    /// Returns the sockets that are there, those of dead gateways included.
    pub(crate) fn sockets(&self) -> io::Result<Vec<PathBuf>> {
        let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sock");
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&self.folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(is_socket)
            .take(MOST_GATEWAYS)
            .collect();
        paths.sort();
        Ok(paths)
    }

    /// Has all gateways judge again what stands on approvals. One that cannot be reached does so at its next occasion.
    pub(crate) async fn rejudge(&self) {
        for mut connection in self.connect().await.unwrap_or_default() {
            if let Err(error) = connection.rejudge().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a gateway does not answer");
            }
        }
    }

    /// Connects to every gateway that runs. The sockets of those that ended without a word are removed.
    pub(crate) async fn connect(&self) -> Result<Vec<Connection>, ConnectionError> {
        let mut connections = Vec::new();
        for path in self.sockets()? {
            match Connection::open(&path).await {
                Ok(connection) => connections.push(connection),
                Err(ConnectionError::Gone) => remove(&path),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error, path = %path.display(), "a gateway cannot be asked"
                ),
            }
        }
        Ok(connections)
    }
}

/// Removes the socket of a gateway that ended. Another command may have been faster.
pub(crate) fn remove(path: &std::path::Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(error = &error as &dyn std::error::Error, path = %path.display(), "a socket was not removed");
    }
}

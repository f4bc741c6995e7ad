//! The authorization server: clients get tokens once the operator consents.

mod authorize;
mod exchange;

pub(crate) use authorize::Surroundings;

use std::sync::{Mutex, PoisonError, RwLock};

use tokio::sync::Semaphore;

use crate::browser::Code;
use crate::client::{Client, ClientFile};
use crate::clock::{Clock, Moment};
use crate::credential::Credentials;
use crate::desk::{ConsentView, Desk, DeskError};
use crate::document::Documents;
use crate::files::{FileError, Version};
use crate::grants::{GrantView, Grants, Kept, name_of};
use crate::registration;
use crate::route::PublicUrl;
use crate::seal::Seal;
use crate::settings::{AuthorizationSettings, DoorSettings};

/// The authorization server.
#[derive(Debug)]
pub(crate) struct AuthorizationServer {
    pub(crate) settings: AuthorizationSettings,
    url: PublicUrl,
    clock: Clock,
    seal: Seal,
    file: ClientFile,
    version: Mutex<Version>,
    registered: RwLock<Vec<Client>>,
    documents: Documents,
    desk: Desk,
    pub(crate) grants: Grants,
    /// A passphrase takes a fraction of a second of a core to check: one at a time.
    checking: Semaphore,
}

impl AuthorizationServer {
    /// Opens it, with the families of tokens that were kept.
    pub(crate) fn open(
        door: &DoorSettings,
        settings: AuthorizationSettings,
        credentials: &Credentials,
    ) -> Result<Self, FileError> {
        let kept = Kept::new(&door.folder, door.public_url.as_str(), settings.persist);
        let grants = kept.read()?;
        let file = ClientFile::in_folder(&door.folder);
        let server = Self {
            url: door.public_url.clone(),
            clock: door.clock.clone(),
            seal: Seal::new(&door.key),
            version: Mutex::new(file.version()),
            registered: RwLock::default(),
            documents: Documents::default(),
            desk: Desk::default(),
            grants: Grants::new(kept, grants),
            checking: Semaphore::new(1),
            settings,
            file,
        };
        server.read_clients()?;
        server.grants.sweep(credentials, server.now());
        server.end_unregistered(credentials);
        server.grants.publish_all(credentials);
        Ok(server)
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn read_clients(&self) -> Result<(), FileError> {
        let clients = self.file.list()?.iter().map(crate::client::RegisteredClient::to_client).collect();
        *self.registered.write().unwrap_or_else(PoisonError::into_inner) = clients;
        Ok(())
    }

    /// Ends the families of clients that the operator removed.
    fn end_unregistered(&self, credentials: &Credentials) -> usize {
        let registered = self.registered.read().unwrap_or_else(PoisonError::into_inner);
        let is_gone = |id: &str| id.starts_with("ptc-") && !registered.iter().any(|client| client.id == id);
        self.grants.end(|grant| is_gone(&grant.client), credentials)
    }

    /// Takes changes of its file, and forgets what is over. Returns true where families ended by that.
    pub(crate) fn refresh(&self, credentials: &Credentials) -> bool {
        self.grants.sweep(credentials, self.now());
        let version = self.file.version();
        let before = std::mem::replace(&mut *self.version.lock().unwrap_or_else(PoisonError::into_inner), version);
        if before == version {
            return false;
        }
        match self.read_clients() {
            Ok(()) => tracing::info!("the clients were read again"),
            Err(error) => {
                self.registered.write().unwrap_or_else(PoisonError::into_inner).clear();
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the clients cannot be read: those that were registered are not known"
                );
                return false;
            }
        }
        self.end_unregistered(credentials) > 0
    }

    /// Returns a client that needs nothing fetched.
    fn client(&self, id: &str) -> Option<Client> {
        let registered = self.registered.read().unwrap_or_else(PoisonError::into_inner);
        let found = registered.iter().find(|client| client.id == id).cloned();
        drop(registered);
        found.or_else(|| self.settings.registration.then(|| registration::known(id, &self.seal, self.now())).flatten())
    }

    /// Waits for a browser that shows a code. Whoever waits sets a limit.
    pub(crate) async fn expect(&self, code: Code) -> Result<ConsentView, DeskError> {
        self.desk.expect(code, &self.clock).await
    }

    #[cfg(test)]
    pub(crate) fn expects(&self, code: Code) -> bool {
        self.desk.expects(code, self.now())
    }

    /// Answers a code that a browser showed.
    pub(crate) fn answer(&self, code: Code, allow: bool) -> Result<(), DeskError> {
        self.desk.answer(code, allow, self.now())
    }

    /// Lists the families of tokens.
    pub(crate) fn list(&self) -> Vec<GrantView> {
        self.grants.list()
    }

    /// Ends families by name. Returns how many.
    pub(crate) async fn end(&self, names: &[String], credentials: &Credentials) -> usize {
        let ended = self.grants.end(|grant| names.contains(&name_of(grant.id)), credentials);
        if ended > 0 {
            self.grants.keep().await;
        }
        ended
    }
}

//! What a front door is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_model::Secret;

use crate::clock::Clock;
use crate::fetch::Fetcher;
use crate::route::PublicUrl;
use crate::source::TrustedProxies;

/// Returns true where a text is the operator's passphrase. It may take its time: it is called on a thread for that.
#[derive(Clone)]
pub struct ProvePassphrase(pub Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl std::fmt::Debug for ProvePassphrase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ProvePassphrase(…)")
    }
}

/// How the operator consents to a client. There is no way that needs nobody.
#[derive(Clone, Debug)]
pub enum Approval {
    /// By a code that the page shows, on the machine of the gateway.
    OutOfBand,
    /// As before, or by the operator's passphrase on the page itself.
    Passphrase(ProvePassphrase),
}

/// Clients that are described by a document at the address which is their id.
#[derive(Clone, Debug, Default)]
pub struct ClientDocuments {
    /// False where there are none.
    pub allowed: bool,
    /// Hosts whose documents are fetched whoever asks. Those of others are fetched once the operator is there.
    pub trusted_hosts: Vec<String>,
    /// How they are fetched.
    pub fetcher: Fetcher,
}

/// The authorization server of a front door.
#[derive(Clone, Debug)]
pub struct AuthorizationSettings {
    /// How the operator consents.
    pub approval: Approval,
    /// Clients described by documents.
    pub client_documents: ClientDocuments,
    /// True where clients may register themselves (RFC 7591).
    pub registration: bool,
    /// How long an access token holds.
    pub access: Duration,
    /// How long a refresh token holds that is not used.
    pub idle: Duration,
    /// How long all tokens of one consent hold.
    pub longest: Duration,
    /// True where tokens survive a restart.
    pub persist: bool,
}

impl AuthorizationSettings {
    /// The defaults: an hour, 30 days, 90 days.
    pub fn new(approval: Approval) -> Self {
        Self {
            approval,
            client_documents: ClientDocuments { allowed: true, ..ClientDocuments::default() },
            registration: false,
            access: Duration::from_hours(1),
            idle: Duration::from_hours(30 * 24),
            longest: Duration::from_hours(90 * 24),
            persist: true,
        }
    }
}

/// What a front door is told.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// The folder of its state, which only the owner can enter.
    pub folder: PathBuf,
    /// The address under which clients reach it.
    pub public_url: PublicUrl,
    /// The proxies before it.
    pub proxies: TrustedProxies,
    /// The token of the installation.
    pub installation: Option<Secret>,
    /// A token that came by the environment.
    pub environment: Option<Secret>,
    /// Key of the installation, for what strangers carry for us.
    pub key: [u8; 32],
    /// The authorization server, where there is one.
    pub authorization: Option<AuthorizationSettings>,
    /// What time it is.
    pub clock: Clock,
}

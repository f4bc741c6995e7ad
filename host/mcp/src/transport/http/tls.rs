//! How an endpoint proves who it is, and the gateway to it.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, Once};

use portcullis_config::{ClientIdentity, TlsVerification};
use portcullis_oauth::Certificates;
use reqwest::{Certificate, ClientBuilder, Identity};

use super::HttpSetupError;

/// A file of certificates or keys has at most so many bytes: the bundle of a whole system has a quarter of it.
const LONGEST_FILE: u64 = 1024 * 1024;

/// Makes *ring* the provider of rustls. Several may be compiled in by way of dependencies, and rustls refuses to choose.
pub(super) fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Where an embedding program has chosen already, its choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Which certificates are believed and which one is offered. The files are read anew for every connection, so that renewed
/// ones count.
#[derive(Default)]
pub struct Trusted {
    verification: Verification,
    identity: Option<Identity>,
}

#[derive(Default)]
enum Verification {
    #[default]
    System,
    Only(Vec<Certificate>),
    Off,
}

/// Shows nothing of the key.
impl std::fmt::Debug for Trusted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Trusted").field("has_identity", &self.identity.is_some()).finish_non_exhaustive()
    }
}

impl Trusted {
    /// Reads the files that an entry names.
    pub async fn read(verification: TlsVerification, identity: Option<ClientIdentity>) -> Result<Self, HttpSetupError> {
        if verification == TlsVerification::System && identity.is_none() {
            return Ok(Self::default());
        }
        install_provider();
        let reading = tokio::task::spawn_blocking(move || Self::read_now(&verification, identity.as_ref()));
        reading.await.unwrap_or_else(|_| Err(HttpSetupError::Broken))
    }

    fn read_now(verification: &TlsVerification, identity: Option<&ClientIdentity>) -> Result<Self, HttpSetupError> {
        let verification = match verification {
            TlsVerification::System => Verification::System,
            TlsVerification::Off => Verification::Off,
            TlsVerification::Authorities(path) => Verification::Only(authorities(path)?),
        };
        Ok(Self { verification, identity: identity.map(offered).transpose()? })
    }

    pub(super) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = match &self.verification {
            Verification::System => builder,
            Verification::Only(authorities) => builder.tls_certs_only(authorities.iter().cloned()),
            Verification::Off => builder.tls_danger_accept_invalid_certs(true),
        };
        match &self.identity {
            Some(identity) => builder.identity(identity.clone()),
            None => builder,
        }
    }

    /// Applies them to a request to another place that the endpoint named: nothing is offered there, and its certificate is
    /// always checked; authorities of the entry count besides those of the system.
    pub(super) fn apply_elsewhere(&self, builder: ClientBuilder) -> ClientBuilder {
        match &self.verification {
            Verification::System | Verification::Off => builder,
            Verification::Only(authorities) => builder.tls_certs_merge(authorities.iter().cloned()),
        }
    }
}

/// Returns how certificates are checked on behalf of an endpoint: at the endpoint itself as its entry says, elsewhere by the
/// system, with the entry's authorities besides.
pub fn certificates(trusted: Arc<Trusted>) -> Certificates {
    Arc::new(move |builder, is_own| if is_own { trusted.apply(builder) } else { trusted.apply_elsewhere(builder) })
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, HttpSetupError> {
    let failed = |source| HttpSetupError::File { key, path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(failed(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(bytes)
}

fn authorities(path: &Path) -> Result<Vec<Certificate>, HttpSetupError> {
    let key = "ssl_verify";
    let certificates = Certificate::from_pem_bundle(&read(key, path)?).unwrap_or_default();
    if certificates.is_empty() {
        return Err(HttpSetupError::Pem { key, path: path.to_owned(), wanted: "certificate" });
    }
    Ok(certificates)
}

/// Reads the certificate that is offered, with its key, which may stand in a file of its own.
fn offered(identity: &ClientIdentity) -> Result<Identity, HttpSetupError> {
    let mut pem = read("client_cert", &identity.certificate)?;
    let (key, path) = match &identity.key {
        Some(path) => {
            let file = read("client_key", path)?;
            pem.push(b'\n');
            pem.extend_from_slice(&file);
            ("client_key", path)
        }
        None => ("client_cert", &identity.certificate),
    };
    // PKCS #8 (RFC 7468 §11) and the form of OpenSSL before.
    if memchr::memmem::find(&pem, b"ENCRYPTED").is_some() {
        return Err(HttpSetupError::Encrypted { key, path: path.clone() });
    }
    // Its error says no more than this, and might say something of the key.
    Identity::from_pem(&pem).map_err(|_| HttpSetupError::Pem {
        key,
        path: path.clone(),
        wanted: "certificate with its private key",
    })
}

//! The certificate of an encrypted front door.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Reads certificates and their key. The key is for its owner alone.
pub(super) fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Failure> {
    check_private(key)?;
    let reading = |path: &Path| format!("reading `{}`", path.display());
    let certificates = CertificateDer::pem_file_iter(certificate).or_exit(Exit::Usage, reading(certificate))?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().or_exit(Exit::Usage, reading(certificate))?;
    if certificates.is_empty() {
        let text = format!("`{}` holds no certificate", certificate.display());
        return Err(Failure::new(Exit::Usage, text).hint("it must be in PEM, the server's own certificate first"));
    }
    let key = PrivateKeyDer::from_pem_file(key).or_exit(Exit::Usage, reading(key))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .or_exit(Exit::Internal, "preparing encryption")?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .or_exit(Exit::Usage, "putting certificate and key together")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(unix)]
fn check_private(key: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = std::fs::metadata(key).or_exit(Exit::Usage, format!("reading `{}`", key.display()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let text = format!("others may read the key `{}`", key.display());
        return Err(Failure::new(Exit::Usage, text).hint("close it with `chmod 600`"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_key: &Path) -> Result<(), Failure> {
    Ok(())
}

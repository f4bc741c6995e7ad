//! The one TLS provider of this program.

use std::sync::Once;

/// Makes *ring* the provider of rustls. Several may be compiled in by way of dependencies, and rustls refuses to choose.
pub(super) fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Where an embedding program has chosen already, its choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

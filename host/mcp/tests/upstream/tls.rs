//! Endpoints behind TLS: whom the gateway believes, and what it shows of itself.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use libtest_mimic::Trial;
use portcullis_config::{ClientIdentity, TlsVerification};
use portcullis_mcp::upstream::{ConnectError, ConnectOptions};
use portcullis_model::{Launch, Secret, ServerEntry};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::http_server::HttpServer;
use crate::support::{Connected, Recorder, connect_with, options, stdio_entry, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("an_endpoint_is_believed_only_with_a_known_authority", an_endpoint_is_believed_only_with_an_authority),
        trial("the_check_of_certificates_can_be_switched_off", the_check_of_certificates_can_be_switched_off),
        trial("an_endpoint_that_wants_a_certificate_is_shown_ours", an_endpoint_is_shown_our_certificate),
        trial("a_file_that_is_of_no_use_is_named_with_its_key", a_file_that_is_of_no_use_is_named_with_its_key),
        trial("nothing_of_ours_follows_a_redirect_to_another_origin", nothing_follows_a_redirect_to_another_origin),
    ]
}

/// An authority with what it signed, in files and for a server.
struct Authority {
    folder: TempDir,
    roots: RootCertStore,
    server: (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>),
}

impl Authority {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).unwrap();
        let issuer = Issuer::new(params, key);
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
            (certificate, key)
        };
        let (certificate, key) = signed("127.0.0.1");
        let server = (vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()));
        let (certificate, key) = signed("gateway.invalid");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("authority.pem", &root.pem());
        write("client.pem", &certificate.pem());
        write("client-key.pem", &key.serialize_pem());
        write("client-both.pem", &format!("{}{}", key.serialize_pem(), certificate.pem()));
        Self { folder, roots, server }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts an endpoint, which wants a certificate of this authority where `wants` is true.
    async fn serve(&self, wants: bool) -> HttpServer {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let config = config.unwrap();
        let config = if wants {
            let roots = Arc::new(self.roots.clone());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build().unwrap();
            config.with_client_cert_verifier(verifier)
        } else {
            config.with_no_client_auth()
        };
        let (chain, key) = (self.server.0.clone(), self.server.1.clone_key());
        let config = config.with_single_cert(chain, key).unwrap();
        HttpServer::start_with(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    fn trusted(&self) -> TlsVerification {
        TlsVerification::Authorities(self.file("authority.pem"))
    }

    fn identity(&self, certificate: &str, key: Option<&str>) -> ClientIdentity {
        let key = key.map(|key| self.file(key));
        ClientIdentity { certificate: self.file(certificate), key, passphrase: None }
    }
}

fn token() -> String {
    ["Bear", "er of-the-entry"].concat()
}

async fn connect(
    url: String,
    tls: TlsVerification,
    client_identity: Option<ClientIdentity>,
) -> Result<Connected, ConnectError> {
    let headers = vec![("Authorization".to_owned(), Secret::new(token())), ("X-Key".to_owned(), Secret::new(token()))];
    let entry = ServerEntry { launch: Launch::Http { url, headers, legacy_sse: false }, ..stdio_entry("", &[]) };
    connect_with(entry, ConnectOptions { tls, client_identity, ..options() }, Recorder::default()).await
}

/// The error with all its causes.
fn told(outcome: Result<Connected, ConnectError>) -> String {
    let Err(error) = outcome else { panic!("it connected") };
    let mut text = error.failure.to_string();
    let mut cause = error.failure.source();
    while let Some(error) = cause {
        write!(text, ": {error}").unwrap();
        cause = error.source();
    }
    assert!(!text.contains(&token()), "{text}");
    text
}

async fn an_endpoint_is_believed_only_with_an_authority() {
    let authority = Authority::new();
    let server = authority.serve(false).await;
    let connected =
        connect(server.url("/mcp"), authority.trusted(), None).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(connected.result("json").await, r#"{"n":1.0}"#);
    let sent = server.seen.lock().unwrap().len();
    for other in [TlsVerification::System, Authority::new().trusted()] {
        let text = told(connect(server.url("/mcp"), other, None).await);
        assert!(text.contains("certificate"), "{text}");
    }
    assert_eq!(server.seen.lock().unwrap().len(), sent, "nothing was sent to whom it does not believe");
}

async fn the_check_of_certificates_can_be_switched_off() {
    let server = Authority::new().serve(false).await;
    let connected =
        connect(server.url("/mcp"), TlsVerification::Off, None).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(connected.result("events").await, r#"{"n":1.0}"#);
}

async fn an_endpoint_is_shown_our_certificate() {
    let authority = Authority::new();
    let server = authority.serve(true).await;
    for identity in
        [authority.identity("client.pem", Some("client-key.pem")), authority.identity("client-both.pem", None)]
    {
        let connected = connect(server.url("/mcp"), authority.trusted(), Some(identity)).await;
        assert_eq!(connected.unwrap_or_else(|error| panic!("{error:?}")).result("json").await, r#"{"n":1.0}"#);
    }
    let foreign = Authority::new();
    for identity in [None, Some(foreign.identity("client-both.pem", None))] {
        told(connect(server.url("/mcp"), authority.trusted(), identity).await);
    }
}

async fn a_file_that_is_of_no_use_is_named_with_its_key() {
    let authority = Authority::new();
    let key = std::fs::read_to_string(authority.file("client-key.pem")).unwrap();
    let secret = key.lines().nth(1).unwrap().to_owned();
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for (name, text) in [("empty.pem", ""), ("encrypted.pem", &encrypted), ("text.pem", "no PEM at all")] {
        std::fs::write(authority.file(name), text).unwrap();
    }
    let server = authority.serve(false).await;
    let trusted = |name: &str| TlsVerification::Authorities(authority.file(name));
    let offered = |certificate, key| Some(authority.identity(certificate, key));
    for (verification, identity, key, file) in [
        (trusted("missing.pem"), None, "ssl_verify", "missing.pem"),
        (trusted("empty.pem"), None, "ssl_verify", "empty.pem"),
        (trusted("text.pem"), None, "ssl_verify", "text.pem"),
        (authority.trusted(), offered("missing.pem", None), "client_cert", "missing.pem"),
        (authority.trusted(), offered("client.pem", None), "client_cert", "client.pem"),
        (authority.trusted(), offered("client.pem", Some("missing.pem")), "client_key", "missing.pem"),
        (authority.trusted(), offered("client.pem", Some("text.pem")), "client_key", "text.pem"),
        (authority.trusted(), offered("client.pem", Some("encrypted.pem")), "client_key", "encrypted.pem"),
    ] {
        let text = told(connect(server.url("/mcp"), verification, identity).await);
        assert!(text.contains(key) && text.contains(file) && !text.contains(&secret), "{key} {file}: {text}");
    }
    assert!(server.seen.lock().unwrap().is_empty(), "nothing is sent without what the entry asks for");
}

async fn nothing_follows_a_redirect_to_another_origin() {
    let authority = Authority::new();
    let (first, other) = (authority.serve(true).await, authority.serve(true).await);
    let plain = HttpServer::start().await;
    for elsewhere in [format!("/to/https/{}", other.address), format!("/to/http/{}", plain.address)] {
        let identity = Some(authority.identity("client-both.pem", None));
        let text = told(connect(first.url(&elsewhere), authority.trusted(), identity).await);
        assert!(text.contains("redirects"), "{text}");
    }
    assert!(!first.seen.lock().unwrap().is_empty());
    assert!(other.seen.lock().unwrap().is_empty() && plain.seen.lock().unwrap().is_empty());
}

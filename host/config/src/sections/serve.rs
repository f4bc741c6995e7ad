//! `serve`: where clients are served over HTTP, and how they get in. Options of the command line go before it.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::diagnostic::DiagnosticKind;
use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::surroundings::Surroundings;
use crate::tree::Node;

/// How the operator consents to OAuth clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServeConsent {
    /// By a command on the machine of the gateway.
    Approve,
    /// By the passphrase for approvals, on the page, as well.
    Passphrase,
    /// Not at all: clients get no tokens by OAuth.
    Off,
}

/// Where clients are served over HTTP. Nothing where the config does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeSection {
    /// Address and port to listen on.
    pub address: Option<SocketAddr>,
    /// URL under which clients reach it.
    pub public_url: Option<String>,
    /// Addresses or ranges of proxies whose word is taken for where a request comes from.
    pub trusted_proxies: Option<Vec<String>>,
    /// The header in which they write it.
    pub proxy_header: Option<String>,
    /// PEM file of certificates, the server's own first.
    pub tls_certificate: Option<PathBuf>,
    /// PEM file of the private key.
    pub tls_key: Option<PathBuf>,
    /// How the operator consents to OAuth clients.
    pub consent: Option<ServeConsent>,
    /// True where OAuth clients may register themselves.
    pub register_clients: Option<bool>,
    /// Hosts whose descriptions of OAuth clients are fetched whoever asks.
    pub client_hosts: Option<Vec<String>>,
    /// Loopback address and port for figures.
    pub metrics: Option<SocketAddr>,
}

/// Reads the section.
pub(crate) fn read(node: &Node, path: &KeyPath, surroundings: &Surroundings, sink: &mut Sink) -> ServeSection {
    let mut fields = Fields::new(node, path.clone(), sink);
    let consents = [
        ("approve", ServeConsent::Approve),
        ("passphrase", ServeConsent::Passphrase),
        ("off", ServeConsent::Off),
        ("false", ServeConsent::Off),
    ];
    let file =
        |fields: &mut Fields<'_, '_>, key| fields.text(key).map(|text| PathBuf::from(surroundings.expand(&text)));
    let section = ServeSection {
        address: address(&mut fields, "address"),
        public_url: fields.text("public_url"),
        trusted_proxies: fields.texts("trusted_proxies"),
        proxy_header: fields.text("proxy_header"),
        tls_certificate: file(&mut fields, "tls_certificate"),
        tls_key: file(&mut fields, "tls_key"),
        consent: fields.choice("consent", &consents),
        register_clients: fields.boolish("register_clients"),
        client_hosts: fields.texts("client_hosts"),
        metrics: address(&mut fields, "metrics"),
    };
    if section.tls_certificate.is_some() != section.tls_key.is_some() {
        let (key, other) =
            if section.tls_key.is_some() { ("tls_key", "tls_certificate") } else { ("tls_certificate", "tls_key") };
        let place = fields.key_place(key);
        let mistake = Mistake::error(DiagnosticKind::Conflict, format!("`{key}` needs `{other}`"));
        fields.report(key, place, mistake);
    }
    fields.finish();
    section
}

fn address(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<SocketAddr> {
    let text = fields.text(key)?;
    let address = text.trim().parse().ok();
    if address.is_none() {
        let place = fields.place_of(key);
        let mistake = Mistake::error(DiagnosticKind::BadValue, "expected an address and a port")
            .hint("write something like `127.0.0.1:8765`");
        fields.report(key, place, mistake);
    }
    address
}

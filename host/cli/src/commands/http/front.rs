//! Where and how clients are served: what the command line says, else the config, else the defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use portcullis_config::{ServeConsent, ServeSection};
use portcullis_door::{AddressRange, PublicUrl};

use crate::arguments::{Consent, Serve};
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Where `serve` listens: a port that no known MCP client uses for itself.
const PORT: u16 = 8765;

/// The header that most proxies write.
const PROXY_HEADER: &str = "x-forwarded-for";

/// Where and how clients are served.
#[derive(Clone, Debug)]
pub(super) struct Front {
    pub(super) address: SocketAddr,
    pub(super) without_token: bool,
    pub(super) public_url: Option<PublicUrl>,
    pub(super) trusted_proxies: Vec<AddressRange>,
    pub(super) proxy_header: String,
    pub(super) tls_certificate: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) consent: Consent,
    pub(super) register_clients: bool,
    pub(super) client_hosts: Vec<String>,
    pub(super) metrics: Option<SocketAddr>,
}

impl Front {
    /// Joins what the command line says with what the config says.
    pub(super) fn of(arguments: &Serve, section: &ServeSection) -> Result<Self, Failure> {
        let in_config = |key: &str| format!("reading `serve.{key}` of the config");
        let public_url = match (&arguments.public_url, &section.public_url) {
            (Some(url), _) => Some(url.clone()),
            (None, Some(text)) => Some(PublicUrl::parse(text).or_exit(Exit::Config, in_config("public_url"))?),
            (None, None) => None,
        };
        let trusted_proxies = if arguments.trusted_proxies.is_empty() {
            let written = section.trusted_proxies.as_deref().unwrap_or_default();
            let ranges = written.iter().map(|text| text.parse::<AddressRange>()).collect::<Result<_, _>>();
            ranges.or_exit(Exit::Config, in_config("trusted_proxies"))?
        } else {
            arguments.trusted_proxies.clone()
        };
        // A certificate goes with its key: both from one place.
        let (tls_certificate, tls_key) = if arguments.tls_certificate.is_some() {
            (arguments.tls_certificate.clone(), arguments.tls_key.clone())
        } else {
            (section.tls_certificate.clone(), section.tls_key.clone())
        };
        let consent = section.consent.map(|consent| match consent {
            ServeConsent::Approve => Consent::Approve,
            ServeConsent::Passphrase => Consent::Passphrase,
            ServeConsent::Off => Consent::Off,
        });
        let client_hosts = if arguments.client_hosts.is_empty() {
            section.client_hosts.clone().unwrap_or_default()
        } else {
            arguments.client_hosts.clone()
        };
        let header = arguments.proxy_header.as_ref().or(section.proxy_header.as_ref());
        Ok(Self {
            address: arguments.address.or(section.address).unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into()),
            // Never by a file: it is for tests.
            without_token: arguments.without_token,
            public_url,
            trusted_proxies,
            proxy_header: header.map_or_else(|| PROXY_HEADER.to_owned(), Clone::clone),
            tls_certificate,
            tls_key,
            consent: arguments.consent.or(consent).unwrap_or(Consent::Approve),
            register_clients: arguments.register_clients || section.register_clients.unwrap_or_default(),
            client_hosts,
            metrics: arguments.metrics.or(section.metrics),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use portcullis_config::{Config, Surroundings};
    use portcullis_model::Origin;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn front(line: &[&str], config: &str) -> Result<Front, Failure> {
        let arguments = Arguments::parse_from([&["portcullis", "serve"], line].concat());
        let Command::Serve(serve) = arguments.command else { panic!("it serves") };
        let config = Config::parse(config, "config.yaml", Origin::ConfigFile, &Surroundings::process());
        assert!(config.diagnostics.is_empty(), "{:?}", config.diagnostics);
        Front::of(&serve, &config.serve)
    }

    const CONFIG: &str = "serve: {address: '127.0.0.1:9000', public_url: 'https://gateway.example', trusted_proxies: [127.0.0.1],
        proxy_header: CF-Connecting-IP, consent: off, register_clients: yes, client_hosts: [app.example], metrics: '127.0.0.1:9464'}";

    #[test]
    fn the_config_says_what_the_command_line_leaves_open() {
        let all = front(&[], CONFIG).unwrap();
        assert_eq!(all.address.port(), 9000);
        assert_eq!(all.public_url.as_ref().map(PublicUrl::as_str), Some("https://gateway.example"));
        assert_eq!((all.trusted_proxies.len(), all.proxy_header.as_str()), (1, "CF-Connecting-IP"));
        assert_eq!((all.consent, all.register_clients, all.client_hosts.len()), (Consent::Off, true, 1));
        assert!(all.metrics.is_some() && !all.without_token);
        let line = [
            "--address",
            "127.0.0.1:1",
            "--consent",
            "approve",
            "--trusted-proxy",
            "10.0.0.0/8",
            "--client-host",
            "b.example",
        ];
        let some = front(&line, CONFIG).unwrap();
        assert_eq!((some.address.port(), some.consent), (1, Consent::Approve));
        assert_eq!(some.trusted_proxies.first().map(ToString::to_string).as_deref(), Some("10.0.0.0/8"));
        assert_eq!(some.client_hosts, ["b.example"]);
        let none = front(&[], "{}").unwrap();
        assert_eq!((none.address.to_string().as_str(), none.consent), ("127.0.0.1:8765", Consent::Approve));
    }

    #[test]
    fn what_is_wrong_in_the_config_is_told_with_its_key() {
        for (config, key) in [
            ("serve: {public_url: 'http://gateway.example'}", "serve.public_url"),
            ("serve: {trusted_proxies: [localhost]}", "serve.trusted_proxies"),
        ] {
            let failure = front(&[], config).unwrap_err();
            assert_eq!(failure.exit(), Exit::Config);
            assert!(failure.to_string().contains(key), "{failure}");
        }
    }
}

//! `portcullis serve`: any number of clients over HTTP.

mod front;
mod tls;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use portcullis_config::Config;
use portcullis_door::{
    Approval, AuthorizationSettings, Clock, DoorSettings, FrontDoor, PublicUrl, TrustedProxies, is_weak,
};
use portcullis_mcp::{HttpOptions, serve_figures, serve_http};
use portcullis_model::Secret;
use portcullis_store::Home;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::serve::{Ended, serve as serve_by, usable_config};
use super::token;
use crate::arguments::{Consent, Serve};
use crate::failure::OrExit as _;
use crate::gateway::{Clients, Composition};
use crate::settings::Settings;
use crate::{Exit, Failure};
use front::Front;

/// A token that comes by the environment, for where there is no other way to bring one.
const TOKEN: &str = "PORTCULLIS_BEARER_TOKEN";

/// The file of the home folder with the key for what strangers carry.
const KEY: &str = "door.key";

/// Serves all servers of the config.
pub(crate) fn serve(settings: &Settings, arguments: &Serve) -> Result<Exit, Failure> {
    let config = usable_config(settings, &arguments.config)?;
    let front = Front::of(arguments, &config.serve)?;
    let arguments = &front;
    check_reach(arguments)?;
    let tls = match (&arguments.tls_certificate, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Some(tls::read(certificate, key)?),
        _ => None,
    };
    serve_by(
        settings,
        &config,
        Vec::new(),
        Clients::Many,
        async |composition: &Composition, home: &Home, ended: &mut Ended| {
            let listening = TcpListener::bind(arguments.address).await;
            let listener =
                listening.or_exit(Exit::Gateway, format!("listening on {}", arguments.address)).map_err(|failure| {
                    failure.hint("name another with `--address`, such as 127.0.0.1:0 for any free port")
                })?;
            let address = listener.local_addr().or_exit(Exit::Gateway, "listening")?;
            let url = own_url(address, tls.is_some(), arguments)?;
            composition.note_front(format!("{}/mcp", url.as_str()));
            let front_door =
                if arguments.without_token { None } else { Some(open_door(home, &config, url.clone(), arguments)?) };
            #[cfg(unix)]
            if let Some(front_door) = &front_door {
                composition.attend(front_door);
            }
            let watched = match arguments.metrics {
                Some(address) => {
                    Some(TcpListener::bind(address).await.or_exit(Exit::Gateway, format!("listening on {address}"))?)
                }
                None => None,
            };
            announce(&url, address, front_door.as_deref(), arguments);
            if let Some(address) = watched.as_ref().and_then(|listener| listener.local_addr().ok()) {
                tracing::info!(%address, "figures are at /metrics, health is at /health");
            }
            let options = HttpOptions { front_door, tls, ..HttpOptions::default() };
            let gateway = composition.gateway().clone();
            let _watched = match watched {
                Some(listener) => Some(Watched(tokio::spawn(serve_figures(listener, options.front_door.clone())))),
                None => None,
            };
            serve_http(gateway, listener, options, ended.told()).await.or_exit(Exit::Gateway, "serving clients")
        },
    )
}

/// A task that ends with this value.
struct Watched<T>(JoinHandle<T>);

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Checks what can be reached from other machines: it must ask who comes, and nobody on the way may read along.
fn check_reach(arguments: &Front) -> Result<(), Failure> {
    if let Some(metrics) = arguments.metrics.filter(|metrics| !metrics.ip().is_loopback()) {
        let text = format!("{metrics} can be reached from other machines, and figures are for this one");
        return Err(Failure::new(Exit::Usage, text).hint("give `--metrics` an address such as 127.0.0.1:9464"));
    }
    let address = arguments.address;
    if address.ip().is_loopback() {
        return Ok(());
    }
    let refuse = |why: &str, hint: &str| {
        let text = format!("{address} can be reached from other machines, and {why}");
        Err(Failure::new(Exit::Usage, text).hint(hint))
    };
    if arguments.without_token {
        return refuse("nothing asks who they are", "leave `--without-token` out");
    }
    if arguments.tls_certificate.is_none() && arguments.trusted_proxies.is_empty() {
        return refuse(
            "what passes is not encrypted",
            "give `--tls-certificate` and `--tls-key`, or name the proxy that encrypts with `--trusted-proxy`, or listen on \
             127.0.0.1 and reach it by a tunnel",
        );
    }
    if arguments.public_url.is_none() {
        return refuse("clients must know it by a name", "give `--public-url https://…`");
    }
    Ok(())
}

/// Returns the URL under which clients reach the gateway.
fn own_url(address: SocketAddr, is_encrypted: bool, arguments: &Front) -> Result<PublicUrl, Failure> {
    if let Some(url) = &arguments.public_url {
        return Ok(url.clone());
    }
    let scheme = if is_encrypted { "https" } else { "http" };
    PublicUrl::parse(&format!("{scheme}://{address}")).or_exit(Exit::Internal, "naming the address")
}

fn open_door(home: &Home, config: &Config, url: PublicUrl, arguments: &Front) -> Result<Arc<FrontDoor>, Failure> {
    let environment =
        std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty()).map(|token| token.trim().to_owned());
    if environment.as_deref().is_some_and(is_weak) {
        let text = format!("the token in `{TOKEN}` could be guessed");
        return Err(Failure::new(Exit::Usage, text).hint("make one with `portcullis token mint NAME`, or leave it out"));
    }
    let settings = DoorSettings {
        folder: token::folder(home)?,
        public_url: url,
        proxies: TrustedProxies {
            ranges: arguments.trusted_proxies.clone(),
            header: arguments.proxy_header.to_ascii_lowercase(),
        },
        installation: Some(token::of(home)?),
        environment: environment.map(Secret::new),
        key: home.key(KEY).or_exit(Exit::State, "reading the key of the front door")?,
        authorization: authorization(home, config, arguments)?,
        clock: Clock::default(),
    };
    FrontDoor::open(settings).map(Arc::new).or_exit(Exit::State, "opening the front door")
}

/// Returns how clients get tokens by OAuth; nothing where they do not.
#[cfg(unix)]
fn authorization(home: &Home, config: &Config, arguments: &Front) -> Result<Option<AuthorizationSettings>, Failure> {
    use portcullis_door::ProvePassphrase;

    use crate::operator::Passphrase;

    let approval = match arguments.consent {
        Consent::Off => return Ok(None),
        Consent::Approve => Approval::OutOfBand,
        Consent::Passphrase => {
            let set = Passphrase::read(home).or_exit(Exit::State, "reading the passphrase for approvals")?;
            let set = set.ok_or_else(|| {
                Failure::new(Exit::Usage, "no passphrase is set that consent could be given by")
                    .hint("set one with `portcullis approvals passphrase`")
            })?;
            Approval::Passphrase(ProvePassphrase(Arc::new(move |text| set.is(text))))
        }
    };
    if !config.approvals.operator {
        tracing::warn!("clients get no tokens by OAuth: the config says that nobody listens to operators");
        return Ok(None);
    }
    let mut settings = AuthorizationSettings::new(approval);
    settings.registration = arguments.register_clients;
    settings.client_documents.trusted_hosts.clone_from(&arguments.client_hosts);
    Ok(Some(settings))
}

#[cfg(not(unix))]
fn authorization(_home: &Home, _config: &Config, _arguments: &Front) -> Result<Option<AuthorizationSettings>, Failure> {
    Ok(None)
}

/// Says where clients connect to, and how. Whoever started the program may read no further than the address, or not at
/// all: that is no reason to stop serving.
fn announce(url: &PublicUrl, address: SocketAddr, front_door: Option<&FrontDoor>, arguments: &Front) {
    let how = match front_door {
        None => {
            tracing::warn!("serving without a token: every process of this machine can use these servers");
            "WITHOUT A TOKEN: every process of this machine can use these servers. Only for tests."
        }
        Some(door) if door.has_authorization() => {
            "clients send the header `Authorization: Bearer TOKEN` (`portcullis token mint NAME` makes one), or ask for one by \
             OAuth, which you consent to with `portcullis approve CODE`"
        }
        Some(_) => "clients send the header `Authorization: Bearer TOKEN`; `portcullis token mint NAME` makes one",
    };
    let is_elsewhere = arguments.public_url.as_ref().is_some_and(PublicUrl::is_secure);
    if is_elsewhere && address.ip().is_loopback() && arguments.trusted_proxies.is_empty() && arguments.tls_key.is_none()
    {
        tracing::warn!(
            "all clients seem to come from the proxy: name it with `--trusted-proxy`, so that one stranger cannot use up the \
             limits of all"
        );
    }
    let url = url.as_str();
    // In one write, so that a reader that goes away after the first line has got all of it.
    let mut text = format!("{url}/mcp for all servers, {url}/mcp/NAME for one\n{how}\n");
    if arguments.public_url.is_some() {
        let _infallible = std::fmt::Write::write_fmt(&mut text, format_args!("listening on {address}\n"));
    }
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        tracing::warn!(%error, %address, "nobody reads where this gateway listens");
    }
}

//! A changed config: servers that are new, gone or different, and nothing else.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use portcullis_config::{Config, ServerOptions};
use portcullis_model::ServerName;
use portcullis_model::json::Value;

use super::fleet::Offers;
use super::members::Members;
use super::server::Server;
use super::shared::Arrangement;
use super::{Fleet, Gateway};
use crate::approver::shown;
use crate::status::{ConfigChanges, Phase};

/// A call that was routed to a server when it was replaced may still be on its way to it.
const ROUTED: Duration = Duration::from_millis(50);
/// Calls that run when the config takes their server away have so long to finish.
const DRAIN: Duration = Duration::from_secs(10);
/// Reasons for operators are cut to this many characters.
const LONGEST_REASON: usize = 500;

/// How the entry of a server differs from what runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    Nothing,
    /// How it is treated: what runs goes on and is judged again.
    Treatment,
    /// What is started or connected.
    Launch,
}

impl Difference {
    fn between(server: &Server, wanted: &portcullis_config::Server) -> Self {
        let (entry, options) = (server.entry(), server.options());
        if entry.launch != wanted.entry.launch
            || entry.origin != wanted.entry.origin
            || !is_connected_alike(&options, &wanted.options)
        {
            Self::Launch
        } else if *entry != *wanted.entry || *options != wanted.options {
            Self::Treatment
        } else {
            Self::Nothing
        }
    }
}

/// Returns true where a connection that was made with either options is the same.
fn is_connected_alike(old: &ServerOptions, new: &ServerOptions) -> bool {
    let enabled = |block: &Value| block.get("enabled").and_then(Value::as_bool).unwrap_or(true);
    old.enabled == new.enabled
        && old.protocol == new.protocol
        && old.tls == new.tls
        && old.client_identity == new.client_identity
        && old.authentication == new.authentication
        && old.sandbox == new.sandbox
        && old.chat == new.chat
        && old.sampling_provider.is_some() == new.sampling_provider.is_some()
        // The server was told of these when it was connected.
        && enabled(&old.sampling) == enabled(&new.sampling)
        && enabled(&old.elicitation) == enabled(&new.elicitation)
}

impl Gateway {
    /// Takes another config: servers that it adds are started, servers that it no longer names are withdrawn and stopped once
    /// their calls have ended, and a server whose entry changed is replaced once the new one is connected and scanned. All
    /// others are not touched. Names of items change at once; who may be asked for approval counts for clients that come.
    ///
    /// A server that the config names in [`Config::left_out`] stays as it is: a mistake is no removal. Call it inside a tokio
    /// runtime. Whether the config is to be used at all is up to the caller.
    pub fn reconfigure(&self, config: &Config) -> ConfigChanges {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.shared.arrangement.load_full();
        let new = Arc::new(old.followed_by(config));
        self.shared.arrangement.store(Arc::clone(&new));
        for fleet in pool.running() {
            fleet.reconfigure(&new);
        }
        drop(pool);
        changes(&old, &new)
    }
}

impl Gateway {
    /// Notes what of the config is not in use, and why, in the host's words; nothing where all of it is.
    pub fn set_config_note(&self, note: Option<String>) {
        *self.shared.config_note.lock().unwrap_or_else(PoisonError::into_inner) = note;
    }
}

/// Returns which servers differ.
fn changes(old: &Arrangement, new: &Arrangement) -> ConfigChanges {
    let mut changes = ConfigChanges { naming: old.naming != new.naming, ..ConfigChanges::default() };
    for server in &new.servers {
        let name = server.name().clone();
        match old.servers.iter().find(|other| other.name() == server.name()) {
            None => changes.added.push(name),
            Some(other) if *other.entry != *server.entry || other.options != server.options => {
                changes.changed.push(name);
            }
            Some(_) => {}
        }
    }
    let present: HashSet<&ServerName> = new.servers.iter().map(portcullis_config::Server::name).collect();
    let gone = old.servers.iter().map(portcullis_config::Server::name).filter(|name| !present.contains(name));
    changes.removed = gone.cloned().collect();
    changes
}

impl Arrangement {
    /// Returns what counts after a change of the config. Servers with a mistake stay as they are.
    fn followed_by(&self, config: &Config) -> Self {
        let mut new = Self::of(config);
        let mistaken = |server: &&portcullis_config::Server| {
            config.left_out.iter().any(|name| name == server.name().as_str())
                && config.server(server.name().as_str()).is_none()
        };
        new.servers.extend(self.servers.iter().filter(mistaken).cloned());
        new
    }
}

impl Fleet {
    /// Brings the servers in line with the config, in one swap.
    fn reconfigure(self: &Arc<Self>, arrangement: &Arrangement) {
        let members = self.members();
        let (mut list, mut started, mut dismissed) = (Vec::new(), Vec::new(), Vec::new());
        let mut offers = self.locked_offers();
        for wanted in &arrangement.servers {
            let Some(member) = members.get(wanted.name()) else {
                let server = self.build(wanted, None);
                list.push(Arc::clone(&server));
                started.push(server);
                continue;
            };
            let difference = Difference::between(member, wanted);
            if let Some(candidate) = offers.proving.get(wanted.name()) {
                if difference == Difference::Launch && Difference::between(candidate, wanted) == Difference::Nothing {
                    list.push(Arc::clone(member));
                    continue;
                }
                dismissed.extend(offers.proving.remove(wanted.name()));
            }
            match difference {
                Difference::Nothing => {
                    if member.phase().is_down() {
                        // What kept it from running may be mended: that is why the config was looked at.
                        member.wishes.add(|wanted| wanted.rejudge = true);
                    }
                    list.push(Arc::clone(member));
                }
                Difference::Treatment => {
                    member.treat(Arc::clone(&wanted.entry), wanted.options.clone());
                    list.push(Arc::clone(member));
                }
                Difference::Launch => {
                    let server = self.build(wanted, Some(member));
                    started.push(Arc::clone(&server));
                    // What works is kept until its successor does.
                    if wanted.options.enabled && offers.by_server.contains_key(&member.index) {
                        offers.proving.insert(wanted.name().clone(), server);
                        list.push(Arc::clone(member));
                    } else {
                        offers.by_server.remove(&member.index);
                        dismissed.push(Arc::clone(member));
                        list.push(server);
                    }
                }
            }
        }
        for member in members.iter().filter(|member| !arrangement.names(member.name())) {
            offers.by_server.remove(&member.index);
            dismissed.push(Arc::clone(member));
            dismissed.extend(offers.proving.remove(member.name()));
        }
        self.rebuild(Arc::new(Members::new(list)), &offers);
        drop(offers);
        for server in &started {
            // Clients that have a list are told of the new one; nobody has to wait for it.
            server.settle();
        }
        for server in started.iter().filter(|server| server.options().enabled && self.options().safe_mode.is_none()) {
            self.keep(server);
        }
        for server in dismissed {
            dismiss(server);
        }
        self.note_progress();
    }

    /// Publishes what a server offers that is not one of the fleet: where it was to prove itself, it takes the place of the
    /// one of its name now. A server that was refused does so as well, so that nothing of its name runs.
    pub(super) fn succeed(&self, offers: &mut Offers, server: &Server, offer: Option<portcullis_registry::Offer>) {
        let is_refused = offer.is_none() && server.status().phase == Phase::Denied;
        let proving = offers.proving.get(server.name()).filter(|candidate| candidate.index == server.index).cloned();
        let Some(successor) = proving.filter(|_| offer.is_some() || is_refused) else {
            // It was dismissed meanwhile, or has not shown what it can do yet.
            return;
        };
        offers.proving.remove(server.name());
        if let Some(offer) = offer {
            offers.by_server.insert(server.index, Arc::new(offer));
        }
        let members = self.members();
        let (mut list, mut dismissed) = (Vec::new(), Vec::new());
        for member in members.iter() {
            if member.name() == server.name() {
                offers.by_server.remove(&member.index);
                dismissed.push(Arc::clone(member));
                list.push(Arc::clone(&successor));
            } else {
                list.push(Arc::clone(member));
            }
        }
        self.rebuild(Arc::new(Members::new(list)), offers);
        tracing::info!(server = %server.name(), refused = is_refused, "the changed entry of a server counts from now on");
        for server in dismissed {
            dismiss(server);
        }
    }

    /// Returns what becomes of a changed entry that is not in use yet, for the operator.
    pub(super) fn pending(&self, server: &Server) -> Option<String> {
        let status = self.locked_offers().proving.get(server.name())?.status();
        let reason = status.reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let text = format!("the changed entry is not in use yet ({}{reason})", status.phase.as_str());
        Some(shown(&text, LONGEST_REASON))
    }
}

impl Arrangement {
    fn names(&self, name: &ServerName) -> bool {
        self.servers.iter().any(|server| server.name() == name)
    }
}

/// Stops a server that is withdrawn, once its calls have ended.
fn dismiss(server: Arc<Server>) {
    tracing::info!(server = %server.name(), "a server is stopped: the config changed");
    tokio::spawn(async move {
        tokio::time::sleep(ROUTED).await;
        let _ = tokio::time::timeout(DRAIN, server.drained()).await;
        server.wishes.add(|wanted| wanted.stop = true);
    });
}

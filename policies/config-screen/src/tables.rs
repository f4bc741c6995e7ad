//! The packs, ready for use.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use portcullis_sdk::{ConfigureError, Pack, Packs};
use serde::Deserialize;

use crate::address::Range;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct IocData {
    #[serde(default)]
    texts: Vec<String>,
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    packages: Vec<String>,
}

/// Indicators of known campaigns.
#[derive(Debug)]
pub(crate) struct Iocs {
    pub(crate) texts: Vec<String>,
    pub(crate) addresses: Vec<(Range, String)>,
    pub(crate) hosts: Vec<String>,
    pub(crate) packages: Vec<String>,
}

/// What programs are known for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Programs {
    pub(crate) shells: HashSet<String>,
    pub(crate) windows_shells: HashSet<String>,
    pub(crate) powershells: HashSet<String>,
    pub(crate) interpreters: HashSet<String>,
    pub(crate) egress: HashSet<String>,
    pub(crate) remote: HashSet<String>,
    pub(crate) lookups: HashSet<String>,
    pub(crate) tunnels: HashSet<String>,
    pub(crate) writers: HashSet<String>,
    pub(crate) readers: HashSet<String>,
    pub(crate) schedulers: HashSet<String>,
    pub(crate) runners: HashSet<String>,
    pub(crate) containers: HashSet<String>,
    pub(crate) code_network: Vec<String>,
    pub(crate) code_network_words: Vec<String>,
    pub(crate) code_run_words: Vec<String>,
    pub(crate) code_hidden: Vec<String>,
}

impl Programs {
    /// Returns true for anything that reads command lines.
    pub(crate) fn is_shell(&self, name: &str) -> bool {
        self.shells.contains(name) || self.windows_shells.contains(name) || self.powershells.contains(name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersistenceData {
    targets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EndpointData {
    metadata_hosts: HashSet<String>,
    metadata_addresses: Vec<Ipv4Addr>,
    tunnel_hosts: Vec<String>,
    vendor_hosts: Vec<String>,
    registries: HashSet<String>,
}

/// Hosts that matter wherever they stand.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(crate) metadata_hosts: HashSet<String>,
    pub(crate) metadata_addresses: HashSet<Ipv4Addr>,
    pub(crate) tunnel_hosts: Vec<String>,
    pub(crate) vendor_hosts: Vec<String>,
    pub(crate) registries: HashSet<String>,
}

/// Well-known servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Packages {
    pub(crate) scopes: Vec<String>,
    pub(crate) names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseData {
    phrases: Vec<String>,
}

/// All packs.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) iocs: Iocs,
    pub(crate) programs: Programs,
    pub(crate) persistence: Vec<String>,
    pub(crate) endpoints: Endpoints,
    pub(crate) packages: Packages,
    pub(crate) phrases: Vec<String>,
}

impl Tables {
    /// Reads the packs. All are needed: without one of them its rules would be silently off.
    pub(crate) fn new(packs: &Packs) -> Result<Self, ConfigureError> {
        Ok(Self {
            iocs: indicators(packs)?,
            programs: packs.require("programs")?.parse()?,
            persistence: lower(packs.require("persistence")?.parse::<PersistenceData>()?.targets),
            endpoints: endpoints(packs.require("endpoints")?.parse()?),
            packages: packs.require("packages")?.parse()?,
            phrases: lower(packs.require("phrases")?.parse::<PhraseData>()?.phrases),
        })
    }
}

fn lower(texts: Vec<String>) -> Vec<String> {
    texts.into_iter().map(|text| text.to_lowercase()).collect()
}

/// Shortest indicator: a shorter one would be found in honest entries.
const SHORTEST_INDICATOR: usize = 6;

/// Reads `iocs` and every pack whose name begins with `iocs-`: a campaign can be added without a copy of what is known.
fn indicators(packs: &Packs) -> Result<Iocs, ConfigureError> {
    let mut all = iocs(packs.require("iocs")?)?;
    for pack in packs.iter().filter(|pack| pack.name().starts_with("iocs-")) {
        let more = iocs(pack)?;
        all.texts.extend(more.texts);
        all.addresses.extend(more.addresses);
        all.hosts.extend(more.hosts);
        all.packages.extend(more.packages);
    }
    Ok(all)
}

fn iocs(pack: &Pack) -> Result<Iocs, ConfigureError> {
    let data: IocData = pack.parse()?;
    for (key, texts) in [("texts", &data.texts), ("hosts", &data.hosts)] {
        if let Some(index) = texts.iter().position(|text| text.trim().len() < SHORTEST_INDICATOR) {
            let message = format!("an indicator needs {SHORTEST_INDICATOR} characters");
            return Err(pack.error(&format!("/{key}/{index}"), message));
        }
    }
    let mut addresses = Vec::with_capacity(data.addresses.len());
    for (index, text) in data.addresses.into_iter().enumerate() {
        let range = Range::parse(&text)
            .ok_or_else(|| pack.error(&format!("/addresses/{index}"), "this is neither an IPv4 address nor a range"))?;
        addresses.push((range, text));
    }
    Ok(Iocs { texts: lower(data.texts), addresses, hosts: lower(data.hosts), packages: lower(data.packages) })
}

fn endpoints(data: EndpointData) -> Endpoints {
    Endpoints {
        metadata_hosts: data.metadata_hosts,
        metadata_addresses: data.metadata_addresses.into_iter().collect(),
        tunnel_hosts: lower(data.tunnel_hosts),
        vendor_hosts: lower(data.vendor_hosts),
        registries: data.registries,
    }
}

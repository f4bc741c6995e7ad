//! The policies of a gateway: the bundle, what the config says of it, and the folder, put together for the runtime.

use std::path::PathBuf;

use portcullis_config::{AllowUnsigned, Config, PolicyEntry, Server};
use portcullis_gates::PolicySet;
use portcullis_model::json::{Object, Value};
use portcullis_model::{GateName, PolicyName};
use portcullis_runtime::{
    BundledPolicy, Engine, EngineOptions, Loader, PackFile, PolicyConfig, PolicyStore, StoreConfig, Unsigned,
    compare_versions, parse_yaml,
};
use portcullis_signatures::Trust;
use portcullis_store::{Artifact, Home, SeenVersion, SqliteStore, Versions as _};

use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// The policy that judges what servers ask of the client; servers' own blocks of the config are its settings.
const SERVER_REQUESTS: &str = "server-requests";

/// Builds the store of policies. Nothing is compiled yet.
pub(crate) fn store(home: &Home, config: &Config, seen: &SqliteStore) -> Result<PolicyStore, Failure> {
    let versions = |artifact| -> Result<Vec<(PolicyName, String, String)>, Failure> {
        let seen = seen.seen(artifact).or_exit(Exit::State, "reading the versions seen before")?;
        let version = |seen: SeenVersion| Some((PolicyName::parse(&seen.policy).ok()?, seen.pack, seen.version));
        Ok(seen.into_iter().filter_map(version).collect())
    };
    let bundles = versions(Artifact::Bundle)?.into_iter().map(|(name, _, version)| (name, version));
    let loader = loader(home)?;
    Ok(PolicyStore::new(loader, bundle()?, store_config(home, config))
        .with_seen_versions(versions(Artifact::Pack)?)
        .with_seen_versions(versions(Artifact::Policy)?)
        .with_seen_bundles(bundles))
}

/// Builds what compiles, with the cache of a home.
pub(crate) fn loader(home: &Home) -> Result<Loader, Failure> {
    let engine = Engine::new(EngineOptions::default()).or_exit(Exit::Policies, "starting the engine of policies")?;
    let cache = home.folder("cache").or_exit(Exit::State, "opening the cache of compiled policies")?;
    Loader::with_cache(engine, &cache).or_exit(Exit::Policies, "starting the loader of policies")
}

/// Remembers the newest versions of packs, signed policies and bundles for the next process.
pub(crate) fn remember_versions(policies: &PolicyStore, seen: &SqliteStore) {
    let versions = policies.seen_versions().into_iter().map(|(policy, pack, version)| {
        let artifact = if pack.is_empty() { Artifact::Policy } else { Artifact::Pack };
        (artifact, policy, pack, version)
    });
    let bundles = policies.seen_bundles().into_iter().map(|(name, version)| {
        let pack = String::new();
        (Artifact::Bundle, name, pack, version)
    });
    for (artifact, policy, pack, version) in versions.chain(bundles) {
        if let Err(error) = seen.observe(artifact, policy.as_str(), &pack, &version, compare_versions) {
            tracing::warn!(error = &error as &dyn std::error::Error, %policy, pack, "a version was not kept");
        }
    }
}

/// Returns the set that judges until the first real one is there: every gate is shut.
pub(crate) fn shut(config: &Config) -> PolicySet {
    let bundled = || {
        let usual = portcullis_bundle::policies().iter().filter(|policy| !policy.optional);
        usual.filter_map(|policy| PolicyName::parse(policy.name).ok())
    };
    let required = config.policies.required.clone().filter(|required| !required.is_empty());
    let mut names = required.unwrap_or_else(|| bundled().collect());
    if names.is_empty() {
        names.extend(PolicyName::parse("bundle"));
    }
    names.into_iter().fold(PolicySet::default(), |set, name| set.with_missing(name, GateName::ALL.to_vec()))
}

/// Returns the embedded policies with their settings and packs.
pub(crate) fn bundle() -> Result<Vec<BundledPolicy>, Failure> {
    // What is embedded was checked when it was built; should it be bad all the same, nothing may start without it.
    portcullis_bundle::policies()
        .iter()
        .map(|bundled| {
            let doing = || format!("reading the policy `{}` of the bundle", bundled.name);
            let packs: Result<Vec<_>, _> =
                bundled.packs.iter().map(|(_, yaml)| PackFile::parse(yaml.as_bytes())).collect();
            Ok(BundledPolicy {
                name: PolicyName::parse(bundled.name).or_exit(Exit::Internal, doing())?,
                wasm: bundled.wasm,
                settings: parse_yaml(bundled.settings_yaml.as_bytes()).or_exit(Exit::Internal, doing())?,
                packs: packs.or_exit(Exit::Internal, doing())?,
                optional: bundled.optional,
            })
        })
        .collect()
}

/// Returns the folder that policies and packs are dropped into.
pub(crate) fn folder(home: &Home, config: &Config) -> PathBuf {
    config.policies.directory.clone().unwrap_or_else(|| home.path().join("policies.d"))
}

/// Returns what the config says of policies.
pub(crate) fn store_config(home: &Home, config: &Config) -> StoreConfig {
    let mut policies: Vec<_> = config.policies.entries.iter().map(policy_config).collect();
    let requests = requests_settings(config);
    if !requests.is_empty()
        && let Ok(name) = PolicyName::parse(SERVER_REQUESTS)
    {
        match policies.iter_mut().find(|policy| policy.name == name) {
            Some(policy) => policy.settings = overlaid(requests, &policy.settings),
            None => policies.push(PolicyConfig { settings: requests, ..PolicyConfig::new(name) }),
        }
    }
    StoreConfig {
        policies,
        required: config.policies.required.clone(),
        unsigned: match config.policies.allow_unsigned {
            AllowUnsigned::All => Unsigned::All,
            AllowUnsigned::Packs => Unsigned::Packs,
            AllowUnsigned::Nothing => Unsigned::Nothing,
        },
        trust: Trust::new(config.policies.keys.clone()),
        // Within the policies folder, so that what is promoted can be renamed into it.
        trial: Some(folder(home, config).join(".trial")),
        folder: Some(folder(home, config)),
    }
}

fn policy_config(entry: &PolicyEntry) -> PolicyConfig {
    PolicyConfig {
        path: entry.path.clone(),
        settings: entry.settings.as_object().cloned().unwrap_or_default(),
        mode: entry.mode,
        on_fault: entry.on_fault,
        isolation: entry.isolation,
        rights: entry.rights,
        grants: entry.grants.clone(),
        exemptions: entry.exemptions.clone(),
        ..PolicyConfig::new(entry.name.clone())
    }
}

/// Returns the `sampling` and `elicitation` blocks of all servers as settings of the policy that applies them.
fn requests_settings(config: &Config) -> Object {
    let mut servers = Object::new();
    for server in &config.servers {
        let blocks = blocks(server);
        if !blocks.is_empty() {
            servers.insert(server.name().as_str(), blocks);
        }
    }
    let mut settings = Object::new();
    if !servers.is_empty() {
        settings.insert("servers", servers);
    }
    settings
}

fn blocks(server: &Server) -> Object {
    let mut blocks = Object::new();
    for (name, block) in [("sampling", &server.options.sampling), ("elicitation", &server.options.elicitation)] {
        if block.as_object().is_some_and(|block| !block.is_empty()) {
            blocks.insert(name, block.clone());
        }
    }
    blocks
}

/// Lays settings over others, member by member and level by level: what is written under `policies` is the last word.
fn overlaid(mut below: Object, above: &Object) -> Object {
    for (key, value) in above.iter() {
        let joined = match (below.get(key), value) {
            (Some(Value::Object(lower)), Value::Object(upper)) => overlaid(lower.clone(), upper).into(),
            (_, value) => value.clone(),
        };
        below.insert(key, joined);
    }
    below
}

/// Builds the store of policies and loads them, for commands that need them all at once.
pub(crate) fn load(home: &Home, config: &Config, seen: &SqliteStore) -> Result<PolicyStore, Failure> {
    let store = store(home, config, seen)?;
    store.load();
    remember_versions(&store, seen);
    Ok(store)
}

#[cfg(test)]
mod tests {
    use portcullis_config::Surroundings;
    use portcullis_model::Origin;

    use super::*;

    #[test]
    fn blocks_of_servers_become_settings_and_what_policies_say_is_stronger() {
        let text = "
mcp_servers:
  a: {command: x, sampling: {max_rpm: 3, timeout: 7}}
  b: {command: x}
policies:
  server-requests: {settings: {roots: off, servers: {a: {sampling: {max_rpm: 5}}}}}
";
        let config = Config::parse(text, "config.yaml", Origin::ConfigFile, &Surroundings::new(|_| None));
        assert_eq!(config.diagnostics, []);
        let folder = tempfile::tempdir().unwrap();
        let store = store_config(&Home::open(folder.path()).unwrap(), &config);
        let [policy] = store.policies.as_slice() else { panic!("one policy") };
        let value = Value::from(policy.settings.clone());
        assert_eq!(value.pointer("/servers/a/sampling/max_rpm").and_then(Value::as_u64), Some(5));
        assert!(value.pointer("/servers/a/sampling/timeout").is_some() && value.pointer("/servers/b").is_none());
        assert!(value.get("roots").is_some());
    }

    #[test]
    fn until_the_policies_are_there_every_gate_is_shut() {
        let nothing_required =
            Config::parse("policies: {required: []}", "c", Origin::ConfigFile, &Surroundings::new(|_| None));
        for config in [Config::default(), nothing_required] {
            let set = shut(&config);
            assert!(GateName::ALL.into_iter().all(|gate| set.missing(gate).is_some()));
        }
    }
}

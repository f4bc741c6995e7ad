//! Files, ports and signals, by Landlock.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};

use super::{Network, Plan};

/// The interfaces that this module uses, oldest first.
pub(super) const KNOWN: [u8; 6] = [1, 2, 3, 4, 5, 6];

fn interface(level: u8) -> ABI {
    match level {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        // Later ones have more that could be handled; nothing of it is relied on here.
        _ => ABI::V6,
    }
}

/// Returns rules that handle all that an interface can confine. They fail where the kernel lacks a part.
fn handled(level: u8, ports: bool) -> Result<Ruleset, RulesetError> {
    let abi = interface(level);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(abi))?;
    if ports && level >= 4 {
        rules = rules.handle_access(AccessNet::from_all(abi))?;
    }
    if level >= 6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    Ok(rules)
}

/// Returns true where the running kernel has an interface.
pub(super) fn is_supported(level: u8) -> bool {
    handled(level, true).and_then(Ruleset::create).is_ok()
}

/// Opens all paths of a plan and makes rules of them, ready to be set.
pub(super) fn rules(plan: &Plan) -> io::Result<RulesetCreated> {
    let level = plan.support.landlock;
    let abi = interface(level);
    let confines_ports = plan.network != Network::All;
    let mut rules = handled(level, confines_ports).and_then(Ruleset::create).map_err(io::Error::other)?;
    // What is written is often read and run as well: a package that was fetched, a script that was made.
    for (paths, access) in [(&plan.read, AccessFs::from_read(abi)), (&plan.write, AccessFs::from_all(abi))] {
        for path in paths {
            rules = give(rules, path, access, abi)?;
        }
    }
    if let (Network::Ports(ports), 4..) = (&plan.network, level) {
        for port in ports {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(io::Error::other)?;
        }
    }
    Ok(rules)
}

fn give(rules: RulesetCreated, path: &PathBuf, access: BitFlags<AccessFs>, abi: ABI) -> io::Result<RulesetCreated> {
    let told = |error: &dyn std::error::Error| io::Error::other(format!("`{}`: {error}", path.display()));
    let is_folder = std::fs::metadata(path)?.is_dir();
    let opened = PathFd::new(path).map_err(|error| told(&error))?;
    let access = if is_folder { access } else { access & AccessFs::from_file(abi) };
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| told(&error))
}

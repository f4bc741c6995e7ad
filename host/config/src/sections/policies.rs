//! `policies`: which policies judge, and what the operator loosens.

use std::path::PathBuf;

use portcullis_gates::{Isolation, Mode, OnFault};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CapabilityGrants, Exemption, PolicyName, Rights};
use portcullis_signatures::TrustedKey;

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, nearest, wrong_type};
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::surroundings::Surroundings;
use crate::tree::{Kind, Member, Node};

mod exempt;
mod grants;
mod keys;
mod update;

pub use update::{UpdateMode, UpdateSection};

/// What the operator says of one policy. What is not set is as the policy or its place has it.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyEntry {
    /// The policy.
    pub name: PolicyName,
    /// A module outside the policies folder, or in the place of the one of the bundle.
    pub path: Option<PathBuf>,
    /// Settings handed to `configure`: a JSON object.
    pub settings: Value,
    /// Whether its verdicts count.
    pub mode: Option<Mode>,
    /// What a fault becomes.
    pub on_fault: Option<OnFault>,
    /// How instances are used.
    pub isolation: Option<Isolation>,
    /// What it may do.
    pub rights: Option<Rights>,
    /// What it may use besides what it is given: nothing, where nothing is said.
    pub grants: CapabilityGrants,
    /// Rules of it that do not count for a server, for some time.
    pub exemptions: Vec<Exemption>,
}

/// Which policies judge, and what the operator loosens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoliciesSection {
    /// Policies that the config says something of, in file order.
    pub entries: Vec<PolicyEntry>,
    /// Policies without which their gates stay shut; nothing means the whole bundle.
    pub required: Option<Vec<PolicyName>>,
    /// What is taken from the policies folder though no trusted key signed it. Where nothing is said: packs, until there
    /// are keys.
    pub allow_unsigned: AllowUnsigned,
    /// Keys whose signatures count, in file order.
    pub keys: Vec<TrustedKey>,
    /// The policies folder, if not the one of the home folder.
    pub directory: Option<PathBuf>,
    /// Where new policies and packs come from while a gateway runs.
    pub update: Option<UpdateSection>,
}

impl PoliciesSection {
    /// Returns what the config says of a policy.
    pub fn entry(&self, name: &str) -> Option<&PolicyEntry> {
        self.entries.iter().find(|entry| entry.name.as_str() == name)
    }
}

/// What is taken from the policies folder though no trusted key signed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AllowUnsigned {
    /// Modules with their settings, and packs.
    All,
    /// Packs: data for policies that are there already.
    #[default]
    Packs,
    /// Nothing.
    Nothing,
}

/// The policies of the default bundle: a name close to one of these and with no module of its own is a misspelling.
const BUNDLE: [&str; 9] = [
    "config-screen",
    "environment",
    "description-scan",
    "pins",
    "trust",
    "result-sanitizer",
    "flow",
    "server-requests",
    "package-advisories",
];

/// Reads `policies`. A mistake leaves out what it belongs to; what is left out is as if the operator had not said it, and
/// that never loosens.
pub(crate) fn read(node: &Node, path: &KeyPath, surroundings: &Surroundings, sink: &mut Sink) -> PoliciesSection {
    let mut fields = Fields::new(node, path.clone(), sink);
    let required = fields.texts("required").map(|names| {
        names.iter().filter(|name| name.as_str() != "none").filter_map(|name| policy_name(name, &mut fields)).collect()
    });
    let keys = keys::read(&mut fields);
    let usual = if fields.raw("keys").is_some() { AllowUnsigned::Nothing } else { AllowUnsigned::default() };
    let section = PoliciesSection {
        entries: Vec::new(),
        required,
        allow_unsigned: keys::allow_unsigned(&mut fields).unwrap_or(usual),
        keys,
        directory: fields.text("directory").map(|path| PathBuf::from(surroundings.expand(&path))),
        update: update::read(&mut fields, surroundings),
    };
    let members: Vec<&Member> = fields.rest().collect();
    let entries = members.into_iter().filter_map(|member| entry(member, path, surroundings, sink)).collect();
    PoliciesSection { entries, ..section }
}

fn policy_name(name: &str, fields: &mut Fields<'_, '_>) -> Option<PolicyName> {
    match PolicyName::parse(name) {
        Ok(name) => Some(name),
        Err(error) => {
            let place = fields.place_of("required");
            let message = format!("a policy name {error}");
            fields.report("required", place, Mistake::error(DiagnosticKind::BadValue, message));
            None
        }
    }
}

fn entry(member: &Member, path: &KeyPath, surroundings: &Surroundings, sink: &mut Sink) -> Option<PolicyEntry> {
    let path = path.key(&member.key);
    if member.value.members().is_none() && !member.value.is_null() {
        let near = nearest(&member.key, ["required", "allow_unsigned", "directory", "keys", "update"].into_iter());
        let message = format!("expected a map with settings of a policy, found {}", member.value.shown());
        let mistake = Mistake::error(DiagnosticKind::WrongType, message)
            .maybe_hint(near.map(|near| format!("did you mean `{near}`?")));
        sink.push(&path, member.place, mistake);
        return None;
    }
    let name = match PolicyName::parse(&member.key) {
        Ok(name) => name,
        Err(error) => {
            sink.push(&path, member.place, Mistake::error(DiagnosticKind::BadValue, format!("a policy name {error}")));
            return None;
        }
    };
    let mut fields = Fields::new(&member.value, path.clone(), sink);
    let settings = settings(&mut fields);
    let entry = PolicyEntry {
        path: fields.text("path").map(|path| PathBuf::from(surroundings.expand(&path))),
        settings: settings.unwrap_or_else(|| Object::new().into()),
        mode: fields.choice("mode", &[("enforce", Mode::Enforce), ("shadow", Mode::Shadow), ("off", Mode::Off)]),
        on_fault: fields.choice("on_fault", &[("deny", OnFault::Deny), ("allow", OnFault::Allow)]),
        isolation: fields.choice("isolation", &[("fresh", Isolation::Fresh), ("reuse", Isolation::Reuse)]),
        rights: rights(&mut fields),
        grants: grants::read(&mut fields).unwrap_or_default(),
        exemptions: exempt::read(&mut fields),
        name,
    };
    fields.finish();
    if entry.path.is_none()
        && !BUNDLE.contains(&member.key.as_str())
        && let Some(near) = nearest(&member.key, BUNDLE.into_iter())
    {
        let mistake = Mistake::warning(DiagnosticKind::UnknownKey, "no policy of the bundle has this name")
            .hint(format!("did you mean `{near}`?"));
        sink.push(&path, member.place, mistake);
    }
    Some(entry)
}

fn settings(fields: &mut Fields<'_, '_>) -> Option<Value> {
    let node = fields.get("settings")?;
    if node.members().is_none() {
        fields.report("settings", node.place, wrong_type("a map", node));
        return None;
    }
    Some(node.to_value())
}

/// Reads `rights`: a list of names. What is written twice or unknown is a mistake, never a right.
fn rights(fields: &mut Fields<'_, '_>) -> Option<Rights> {
    const NAMES: [&str; 7] = ["ask", "deny", "edit-span", "remove-member", "label", "charge", "fence"];
    let node = fields.get("rights")?;
    if matches!(node.kind, Kind::Map(_)) {
        let message = "rights for each gate are not supported yet: write one list for all gates";
        fields.report("rights", node.place, Mistake::error(DiagnosticKind::NotSupported, message));
        return None;
    }
    let mut rights = Rights::NONE;
    for name in fields.texts("rights")? {
        let right = match name.as_str() {
            "ask" => &mut rights.ask,
            "deny" => &mut rights.deny,
            "edit-span" => &mut rights.edit_span,
            "remove-member" => &mut rights.remove_member,
            "label" => &mut rights.label,
            "charge" => &mut rights.charge,
            "fence" => &mut rights.fence,
            "all" => {
                rights = Rights::ALL;
                continue;
            }
            "none" => continue,
            other => {
                let near = nearest(other, NAMES.into_iter()).map(|near| format!("did you mean `{near}`?"));
                let mistake = Mistake::error(DiagnosticKind::BadValue, format!("there is no right named `{other}`"));
                fields.report("rights", node.place, mistake.maybe_hint(near));
                continue;
            }
        };
        *right = true;
    }
    Some(rights)
}

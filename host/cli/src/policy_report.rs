//! What is shown of policies.

use std::io::{self, Write};

use portcullis_gates::{Mode, OnFault, PolicySource};
use portcullis_model::json::Value;
use portcullis_model::{GateName, Rights, object};
use portcullis_runtime::{PolicyStatus, PolicyStore, Unsigned};

use crate::failure::one_line;

/// One policy, or something that should be one.
pub(crate) enum PolicyLine {
    /// It judges, or is switched off.
    Known(Box<PolicyStatus>),
    /// It is required and not there: its gates stay shut.
    Missing(String, Vec<GateName>),
    /// A file or policy that was refused, with the reason.
    Refused(String, String),
    /// Something that counts and needs a look, such as a pack that has expired, with the reason.
    Concern(String, String),
    /// Modules are taken though no trusted key signed them.
    Unsigned,
}

/// Returns what there is to say of the policies of a gateway.
pub(crate) fn lines(policies: &PolicyStore) -> Vec<PolicyLine> {
    let known = policies.status().into_iter().map(|status| PolicyLine::Known(Box::new(status)));
    let missing = policies.missing().into_iter().map(|(name, gates)| PolicyLine::Missing(name.to_string(), gates));
    let refused = policies.refused().into_iter().map(|(what, reason)| PolicyLine::Refused(what, reason));
    let concerns = policies.concerns().into_iter().map(|(what, reason)| PolicyLine::Concern(what, reason));
    let unsigned =
        Some(policies.unsigned()).filter(|unsigned| *unsigned == Unsigned::All).map(|_| PolicyLine::Unsigned);
    known.chain(missing).chain(refused).chain(concerns).chain(unsigned).collect()
}

/// What is said of a config that takes unsigned modules.
pub(crate) const ALL_UNSIGNED: &str =
    "allow_unsigned: true: modules and packs are taken though no trusted key signed them";

impl PolicyLine {
    /// Returns true where an operator should know of it even when not asking for policies.
    pub(crate) fn is_remarkable(&self) -> bool {
        match self {
            Self::Known(status) => !status.loosened.is_empty(),
            Self::Missing(..) | Self::Refused(..) | Self::Concern(..) | Self::Unsigned => true,
        }
    }

    /// Writes what is remarkable.
    pub(crate) fn write_remark(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Known(status) => {
                writeln!(out, "policy {}: loosened by the config: {}", status.name, status.loosened.join(", "))
            }
            Self::Missing(name, gates) => {
                writeln!(out, "policy {name}: required and missing; gates that stay shut: {}", names(gates))
            }
            Self::Refused(what, reason) => writeln!(out, "{}: refused: {}", one_line(what), one_line(reason)),
            Self::Concern(what, reason) => writeln!(out, "{}: alarm: {}", one_line(what), one_line(reason)),
            Self::Unsigned => writeln!(out, "{ALL_UNSIGNED}"),
        }
    }

    /// Writes all of it.
    pub(crate) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self::Known(status) = self else { return self.write_remark(out) };
        let required = if status.required { ", required" } else { "" };
        writeln!(out, "{} {} ({}{required})", status.name, one_line(&status.version), source(&status.source))?;
        writeln!(out, "  {}", one_line(&status.summary))?;
        if let Some(signer) = signer(status) {
            writeln!(out, "  signed    {}", one_line(&signer))?;
        }
        writeln!(out, "  gates     {}", names(&status.gates))?;
        writeln!(out, "  rights    {}", rights(status.rights).join(", "))?;
        if let Some(start) = &status.start {
            let cached = if status.cached { "from the cache" } else { "compiled" };
            let milliseconds = status.took.as_secs_f64() * 1_000.0;
            writeln!(out, "  start     {start}, {cached}, loaded in {milliseconds:.1} ms")?;
        }
        writeln!(out, "  module    {} KiB, {}", status.size / 1_024, status.module.short())?;
        let capabilities: Vec<_> = status.capabilities.iter().map(ToString::to_string).collect();
        if !capabilities.is_empty() {
            writeln!(out, "  imports   {}", capabilities.join(", "))?;
        }
        let reaches: Vec<_> = status.reaches.iter().map(ToString::to_string).collect();
        if !reaches.is_empty() {
            writeln!(out, "  reaches   {}", reaches.join(", "))?;
        }
        let packs: Vec<_> = status.packs.iter().map(|(name, version)| format!("{name} {version}")).collect();
        if !packs.is_empty() {
            writeln!(out, "  packs     {}", one_line(&packs.join(", ")))?;
        }
        if !status.loosened.is_empty() {
            writeln!(out, "  loosened  {}", status.loosened.join(", "))?;
        }
        for exemption in &status.exemptions {
            writeln!(out, "  exempt    {}", one_line(&exemption.to_string()))?;
        }
        Ok(())
    }

    /// Returns it for scripts.
    pub(crate) fn to_value(&self) -> Value {
        let list = |texts: Vec<String>| texts.into_iter().map(Value::from).collect::<Vec<_>>();
        match self {
            Self::Known(status) => object! {
                "name" => status.name.as_str(),
                "state" => if status.start.is_some() { "loaded" } else { "off" },
                "version" => status.version.as_str(),
                "summary" => status.summary.as_str(),
                "source" => source(&status.source),
                "signed_by" => status.signed_by.as_deref().map_or(Value::Null, Value::from),
                "bundle" => status.bundle.as_ref().map_or(Value::Null, |(name, _)| name.as_str().into()),
                "bundle_version" => status.bundle.as_ref().map_or(Value::Null, |(_, version)| version.as_str().into()),
                "former" => status.former.as_deref().map_or(Value::Null, Value::from),
                "rolled_back" => status.rolled_back,
                "required" => status.required,
                "mode" => mode(status.mode),
                "on_fault" => match status.on_fault { OnFault::Deny => "deny", OnFault::Allow => "allow" },
                "gates" => list(status.gates.iter().map(ToString::to_string).collect()),
                "rights" => list(rights(status.rights).into_iter().map(str::to_owned).collect()),
                "capabilities" => list(status.capabilities.iter().map(ToString::to_string).collect()),
                "reaches" => list(status.reaches.iter().map(ToString::to_string).collect()),
                "packs" => packs(&status.packs),
                "start" => status.start.as_ref().map_or(Value::Null, |start| start.to_string().into()),
                "cached" => status.cached,
                "loaded_in_us" => u64::try_from(status.took.as_micros()).unwrap_or(u64::MAX),
                "bytes" => status.size as u64,
                "module" => status.module.to_string(),
                "digest" => status.digest.to_string(),
                "exemptions" => list(status.exemptions.iter().map(ToString::to_string).collect()),
                "loosened" => list(status.loosened.iter().map(|text| (*text).to_owned()).collect()),
            }
            .into(),
            Self::Missing(name, gates) => object! {
                "name" => name.as_str(),
                "state" => "missing",
                "gates" => list(gates.iter().map(ToString::to_string).collect()),
            }
            .into(),
            Self::Refused(what, reason) => {
                object! { "name" => what.as_str(), "state" => "refused", "reason" => reason.as_str() }.into()
            }
            Self::Concern(what, reason) => {
                object! { "name" => what.as_str(), "state" => "alarm", "reason" => reason.as_str() }.into()
            }
            Self::Unsigned => {
                object! { "name" => "allow_unsigned", "state" => "alarm", "reason" => ALL_UNSIGNED }.into()
            }
        }
    }
}

/// Returns who signed a policy of the folder, and the bundle that it came in.
fn signer(status: &PolicyStatus) -> Option<String> {
    let bundle = status.bundle.as_ref().map(|(name, version)| format!(" (bundle {name} {version})"));
    let bundle = bundle.unwrap_or_default();
    match (&status.signed_by, &status.source) {
        (Some(key), _) => Some(format!("by {key}{bundle}")),
        (None, PolicySource::Folder(_)) => Some(format!("by nobody{bundle}")),
        (None, PolicySource::Bundle | PolicySource::Config(_)) => None,
    }
}

fn packs(packs: &[(String, String)]) -> Value {
    let mut object = object! {};
    for (name, version) in packs {
        object.insert(name.as_str(), version.as_str());
    }
    object.into()
}

fn source(source: &PolicySource) -> String {
    match source {
        PolicySource::Bundle => "bundle".to_owned(),
        PolicySource::Folder(file) => format!("policies folder: {}", one_line(file)),
        PolicySource::Config(path) => format!("config: {}", one_line(path)),
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "enforce",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    }
}

/// Returns the names of gates.
pub(crate) fn names(gates: &[GateName]) -> String {
    gates.iter().map(|gate| gate.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the names of rights.
pub(crate) fn rights(rights: Rights) -> Vec<&'static str> {
    let Rights { ask, deny, edit_span, remove_member, label, charge, fence } = rights;
    [
        (ask, "ask"),
        (deny, "deny"),
        (edit_span, "edit-span"),
        (remove_member, "remove-member"),
        (label, "label"),
        (charge, "charge"),
        (fence, "fence"),
    ]
    .into_iter()
    .filter_map(|(has, name)| has.then_some(name))
    .collect()
}

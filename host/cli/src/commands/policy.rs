//! `portcullis policy …`: one policy, without a gateway.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod bundle;
pub(crate) mod check;
pub(crate) mod eval;
pub(crate) mod inspect;
pub(crate) mod keygen;
pub(crate) mod new;
mod project;
pub(crate) mod pull;
pub(crate) mod push;
mod registry;
pub(crate) mod run;
pub(crate) mod sign;
#[cfg(unix)]
pub(crate) mod status;
pub(crate) mod test;
pub(crate) mod verify;
pub(crate) mod wrap;

use std::path::Path;

use portcullis_model::json::{Value, parse};
use portcullis_model::{CapabilityGrants, Pack, PolicyName, ServerName};
use portcullis_runtime::{Budget, Loaded, Loader, parse_yaml};

use crate::arguments::Subject;
use crate::failure::OrExit as _;
use crate::probe::Passing;
use crate::settings::Settings;
use crate::{Exit, Failure, policies};

/// A module with what it is configured with.
pub(crate) struct Module {
    pub(crate) wasm: Vec<u8>,
    pub(crate) settings: Value,
    pub(crate) packs: Vec<Pack>,
}

/// Finds a policy of the bundle by its name, or reads a component.
pub(crate) fn module(policy: &str) -> Result<Module, Failure> {
    let bundle = policies::bundle()?;
    let wanted = PolicyName::parse(policy).ok();
    if let Some(bundled) = bundle.iter().find(|bundled| Some(&bundled.name) == wanted.as_ref()) {
        return Ok(Module {
            wasm: bundled.wasm.to_vec(),
            settings: bundled.settings.clone(),
            packs: bundled.packs.iter().map(|file| file.pack.clone()).collect(),
        });
    }
    let names: Vec<_> = bundle.iter().map(|bundled| bundled.name.as_str()).collect();
    let wasm = std::fs::read(policy)
        .or_exit(Exit::Usage, format!("reading the component `{policy}`"))
        .map_err(|failure| failure.hint(format!("name a file, or one of {}", names.join(", "))))?;
    Ok(Module { wasm, settings: Value::Null, packs: Vec::new() })
}

/// Compiles and configures a module, with the cache of the home folder. Where it has a capability, nothing is reached.
pub(crate) fn load(settings: &Settings, module: &Module) -> Result<(Loader, Loaded), Failure> {
    let loader = policies::loader(&settings.open_home()?)?;
    let policy = loader
        .load_granted(
            &module.wasm,
            &module.settings,
            &module.packs,
            &Budget::DEFAULT,
            &CapabilityGrants::in_name_only(),
        )
        .or_exit(Exit::Policies, "loading the policy")?;
    Ok((loader, policy))
}

/// Reads what the policy is to judge, and loads it with the settings of the command line.
pub(crate) fn prepare(settings: &Settings, subject: &Subject) -> Result<(Loader, Loaded, Passing), Failure> {
    let mut module = module(&subject.policy)?;
    if let Some(path) = &subject.settings {
        module.settings = read_settings(path)?;
    }
    let document = read_document(&subject.document)?;
    let (loader, policy) = load(settings, &module)?;
    let passing = Passing {
        gate: subject.gate.into(),
        server: ServerName::parse(&subject.server).or_exit(Exit::Usage, "reading the name of the server")?,
        tool: subject.tool.clone(),
        document,
    };
    if !policy.gates().contains(&passing.gate) {
        let message = format!("`{}` does not judge at the {} gate", policy.description.name, passing.gate);
        let gates = crate::policy_report::names(policy.gates());
        return Err(Failure::new(Exit::Usage, message).hint(format!("it judges at: {gates}")));
    }
    Ok((loader, policy, passing))
}

/// Reads settings from a YAML or JSON file.
pub(crate) fn read_settings(path: &Path) -> Result<Value, Failure> {
    read_yaml(path, "settings")
}

/// Reads a YAML or JSON file; `what` says for people what it holds.
fn read_yaml(path: &Path, what: &str) -> Result<Value, Failure> {
    let doing = || format!("reading the {what} {}", path.display());
    let bytes = std::fs::read(path).or_exit(Exit::Usage, doing())?;
    parse_yaml(&bytes).or_exit(Exit::Usage, doing())
}

fn read_document(path: &Path) -> Result<Value, Failure> {
    let doing = || format!("reading the document {}", path.display());
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes).or_exit(Exit::Usage, doing())?;
        bytes
    } else {
        std::fs::read(path).or_exit(Exit::Usage, doing())?
    };
    parse(&bytes).or_exit(Exit::Usage, doing())
}

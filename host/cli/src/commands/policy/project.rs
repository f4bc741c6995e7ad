//! The folder of a policy: what `policy new` makes and `policy build`, `test` and `check` read.

use std::path::{Path, PathBuf};

use portcullis_model::json::{Object, Value};
use portcullis_model::{Pack, PolicyName};
use portcullis_runtime::{PackFile, parse_yaml};
use portcullis_templates::Language;

use super::Module;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// The file that says what the component is made of.
pub(super) const MANIFEST: &str = "policy.yaml";

/// A policy's folder.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) folder: PathBuf,
    pub(super) name: PolicyName,
    pub(super) language: Language,
    /// The tool of the language with its version, where it has one.
    pub(super) tool: Option<String>,
}

impl Project {
    /// Reads `policy.yaml`.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(MANIFEST);
        let doing = || format!("reading {}", path.display());
        let bytes = std::fs::read(&path)
            .or_exit(Exit::Usage, doing())
            .map_err(|failure| failure.hint("`portcullis policy new` makes a folder with one"))?;
        let Value::Object(mut members) = parse_yaml(&bytes).or_exit(Exit::Usage, doing())? else {
            return Err(Failure::new(Exit::Usage, format!("{}: it is no map", doing())));
        };
        let name = text(&mut members, "name", &doing)?;
        let language = text(&mut members, "language", &doing)?;
        let tool = members.remove("tool").and_then(|tool| tool.as_str().map(str::to_owned));
        if let Some((unknown, _)) = members.iter().next() {
            let known = "name, language, tool";
            return Err(Failure::new(Exit::Usage, format!("{}: unknown key `{unknown}`", doing()))
                .hint(format!("known are {known}")));
        }
        Ok(Self {
            folder: folder.to_owned(),
            name: PolicyName::parse(&name).or_exit(Exit::Usage, format!("{}, name", doing()))?,
            language: Language::parse(&language).or_exit(Exit::Usage, format!("{}, language", doing()))?,
            tool,
        })
    }

    /// Returns the folder of everything that is made.
    pub(super) fn output(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// Returns the place of the component.
    pub(super) fn component(&self) -> PathBuf {
        self.output().join(format!("{}.wasm", self.name))
    }

    /// Reads the component with the settings and packs of the folder.
    fn module(&self) -> Result<Module, Failure> {
        let path = self.component();
        let wasm = std::fs::read(&path)
            .or_exit(Exit::Usage, format!("reading the component {}", path.display()))
            .map_err(|failure| failure.hint("`portcullis policy build` makes it"))?;
        Ok(Module { wasm, settings: settings(&self.folder)?, packs: packs(&self.folder)? })
    }
}

fn text(members: &mut Object, key: &str, doing: &dyn Fn() -> String) -> Result<String, Failure> {
    match members.remove(key) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(Failure::new(Exit::Usage, format!("{}: `{key}` is missing or no text", doing()))),
    }
}

/// Reads the module that is meant: the named one, else that of the folder. Settings and packs are those of the folder, where it
/// has any.
pub(super) fn module(folder: &Path, policy: Option<&str>) -> Result<Module, Failure> {
    let Some(policy) = policy else {
        return Project::read(folder)?.module();
    };
    let mut module = super::module(policy)?;
    if folder.join("settings.yaml").is_file() {
        module.settings = settings(folder)?;
    }
    let packs = packs(folder)?;
    if !packs.is_empty() {
        module.packs = packs;
    }
    Ok(module)
}

fn settings(folder: &Path) -> Result<Value, Failure> {
    let path = folder.join("settings.yaml");
    if path.is_file() { super::read_settings(&path) } else { Ok(Value::Null) }
}

/// Reads `packs/*.yaml` in the order of their names.
pub(super) fn packs(folder: &Path) -> Result<Vec<Pack>, Failure> {
    let mut packs = Vec::new();
    for path in yaml_files(&folder.join("packs")) {
        let doing = || format!("reading the pack {}", path.display());
        let bytes = std::fs::read(&path).or_exit(Exit::Usage, doing())?;
        packs.push(PackFile::parse(&bytes).or_exit(Exit::Usage, doing())?.pack);
    }
    Ok(packs)
}

/// Returns the YAML files of a folder in the order of their names; none where there is no folder.
pub(super) fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_yaml).collect();
    files.sort();
    files
}

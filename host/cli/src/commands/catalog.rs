//! `portcullis catalog`: what can be installed by name, and who vouches for it.

use std::io::{self, Write};
use std::path::Path;

use portcullis_config::{AllowUnsigned, Config, Manifest, built_in};
use portcullis_model::json::Value;
use portcullis_model::{PolicyName, object};
use portcullis_signatures::Trust;

use crate::arguments::{Catalog, ConfigFile, ShowManifest};
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// The folder of the home whose manifests are added to those that are built in.
const FOLDER: &str = "catalog.d";

/// So many manifests of a folder are read; further ones are a mistake.
const MOST: usize = 1_000;

/// A manifest is that long at most; those that are built in have a few hundred bytes.
const LONGEST: u64 = 64 * 1024;

/// Runs one of the commands.
pub(crate) fn run(settings: &Settings, catalog: &Catalog) -> Result<Exit, Failure> {
    match catalog {
        Catalog::List(list) => {
            let entries = entries(settings, &list.config)?;
            report::print(&Listing(entries), list.format)?;
            Ok(Exit::Success)
        }
        Catalog::Show(show) => self::show(settings, show),
    }
}

fn show(settings: &Settings, show: &ShowManifest) -> Result<Exit, Failure> {
    let entry = find(settings, &show.report.config, &show.name)?;
    report::print(&entry, show.report.format)?;
    Ok(Exit::Success)
}

/// Who vouches for a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Vouched {
    /// The program that holds it.
    BuiltIn,
    /// A key of the config, by its name.
    Key(String),
    /// Nobody, and the config takes what is unsigned.
    Nobody,
    /// It can't be installed, for this reason.
    Refused(String),
}

/// A manifest, or a file that should be one.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Nothing where it is refused before it could be read.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) vouched: Vouched,
}

/// Finds a manifest that can be installed or shown.
pub(crate) fn find(settings: &Settings, config: &ConfigFile, name: &str) -> Result<Entry, Failure> {
    let name = name.strip_prefix("official/").unwrap_or(name);
    let entries = entries(settings, config)?;
    let names: Vec<String> = entries.iter().map(|entry| one_line(&entry.name)).collect();
    entries.into_iter().find(|entry| entry.name == name).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("the catalog has no server `{}`", one_line(name)))
            .hint(format!("servers: {}; any other one is added by `portcullis add`", names.join(", ")))
    })
}

/// Returns all that is built in and all of the folder, by name. Where both have a name, the folder's is refused.
fn entries(settings: &Settings, config: &ConfigFile) -> Result<Vec<Entry>, Failure> {
    let config = match settings.read_config(config) {
        Ok((_, config)) => config,
        Err(_) if config.config.is_none() => Config::default(),
        Err(failure) => return Err(failure),
    };
    let built_in = built_in().map(|manifest| Entry {
        name: manifest.name.clone(),
        manifest: Some(manifest),
        vouched: Vouched::BuiltIn,
    });
    let mut entries: Vec<Entry> = built_in.collect();
    for mut entry in of_folder(&settings.home_path().join(FOLDER), &config)? {
        if entries.iter().any(|known| known.name == entry.name) {
            entry.vouched = Vouched::Refused("another manifest of this name comes first".to_owned());
            entry.name = format!("{} ({FOLDER})", entry.name);
        }
        entries.push(entry);
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(entries)
}

fn of_folder(folder: &Path, config: &Config) -> Result<Vec<Entry>, Failure> {
    let files = match std::fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::caused(Exit::State, format!("reading {}", folder.display()), error)),
    };
    let is_manifest = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).filter(is_manifest).take(MOST).collect();
    paths.sort();
    let trust = Trust::new(config.policies.keys.clone());
    paths.iter().map(|path| read(path, &trust, config.policies.allow_unsigned == AllowUnsigned::All)).collect()
}

/// Reads one file, once: what is verified is what is parsed.
fn read(path: &Path, trust: &Trust, takes_unsigned: bool) -> Result<Entry, Failure> {
    let doing = || format!("reading {}", path.display());
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let refused = |reason: String| Entry { name: stem.clone(), manifest: None, vouched: Vouched::Refused(reason) };
    if std::fs::metadata(path).or_exit(Exit::State, doing())?.len() > LONGEST {
        return Ok(refused(format!("it is over {LONGEST} bytes")));
    }
    let bytes = std::fs::read(path).or_exit(Exit::State, doing())?;
    let manifest = match String::from_utf8(bytes.clone()) {
        Ok(text) => Manifest::parse(&text),
        Err(_) => return Ok(refused("it is not UTF-8".to_owned())),
    };
    let manifest = match manifest {
        Ok(manifest) => manifest,
        Err(error) => return Ok(refused(error.to_string())),
    };
    let vouched = vouched(path, &bytes, &manifest, trust, takes_unsigned);
    Ok(Entry { name: manifest.name.clone(), manifest: Some(manifest), vouched })
}

fn vouched(path: &Path, bytes: &[u8], manifest: &Manifest, trust: &Trust, takes_unsigned: bool) -> Vouched {
    let signature = match std::fs::read(crate::commands::policy::sign::signature_of(path)) {
        Ok(signature) => signature,
        Err(_) if takes_unsigned => return Vouched::Nobody,
        Err(_) => return Vouched::Refused("nobody signed it, and the config takes nothing unsigned".to_owned()),
    };
    // A signature that is there must hold, whatever the config takes.
    match trust.signer(bytes, &signature) {
        Err(error) => Vouched::Refused(error.to_string()),
        Ok(key) => match PolicyName::parse(&manifest.name) {
            Ok(name) if key.names.include(&name) => Vouched::Key(key.name.clone()),
            Ok(_) | Err(_) => Vouched::Refused(format!("the key `{}` is not trusted for this name", key.name)),
        },
    }
}

impl Vouched {
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::BuiltIn => "built in".to_owned(),
            Self::Key(name) => format!("signed by {name}"),
            Self::Nobody => "unsigned".to_owned(),
            Self::Refused(reason) => format!("refused: {reason}"),
        }
    }
}

impl Entry {
    pub(crate) fn to_object(&self) -> portcullis_model::json::Object {
        let strings = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        let mut object = object! { "name" => self.name.as_str(), "vouched" => self.vouched.shown() };
        let Some(manifest) = &self.manifest else {
            return object;
        };
        object.insert("description", manifest.description.as_str());
        object.insert("source", manifest.source.as_str());
        if let Some(version) = &manifest.version {
            object.insert("version", version.as_str());
        }
        object.insert("command", manifest.command_line());
        let asked = manifest.variables.iter().map(|asked| {
            let (name, prompt) = (asked.name.as_str(), asked.prompt.as_str());
            object! { "name" => name, "prompt" => prompt, "required" => asked.required, "secret" => asked.secret }
                .into()
        });
        object.insert("variables", asked.collect::<Vec<Value>>());
        let parameters = manifest.parameters.iter().map(|one| {
            object! { "name" => one.name.as_str(), "prompt" => one.prompt.as_str(), "required" => one.default.is_none() }.into()
        });
        object.insert("parameters", parameters.collect::<Vec<Value>>());
        if let Some(include) = &manifest.tools.include {
            object.insert("tools_used", strings(include));
        }
        if !manifest.tools.exclude.is_empty() {
            object.insert("tools_left_out", strings(&manifest.tools.exclude));
        }
        let needs = &manifest.sandbox;
        let needs = object! {
            "network" => strings(&needs.network), "read" => strings(&needs.read), "write" => strings(&needs.write),
        };
        object.insert("needs", needs);
        object
    }

    /// Writes what is worth knowing before it is installed.
    pub(crate) fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(manifest) = &self.manifest else {
            return Ok(());
        };
        writeln!(out, "  command     {}", one_line(&manifest.command_line()))?;
        writeln!(out, "  source      {}", one_line(&manifest.source))?;
        writeln!(out, "  version     {}", one_line(manifest.version.as_deref().unwrap_or("that of the endpoint")))?;
        writeln!(out, "  vouched     {}", one_line(&self.vouched.shown()))?;
        for one in &manifest.parameters {
            let default = one.default.as_ref().map_or_else(String::new, |default| format!(" [{default}]"));
            writeln!(out, "  --set       {}: {}{}", one.name, one_line(&one.prompt), one_line(&default))?;
        }
        for asked in &manifest.variables {
            let kind = if asked.required { "" } else { ", not needed" };
            let default = asked.default.as_ref().map_or_else(String::new, |default| format!(" [{default}]"));
            writeln!(out, "  --env       {}: {}{kind}{}", asked.name, one_line(&asked.prompt), one_line(&default))?;
        }
        let names = |names: &[String]| one_line(&names.join(", "));
        match &manifest.tools.include {
            Some(include) => writeln!(out, "  tools       {}", names(include))?,
            None if manifest.tools.exclude.is_empty() => writeln!(out, "  tools       all")?,
            None => writeln!(out, "  tools       all but {}", names(&manifest.tools.exclude))?,
        }
        let needs = &manifest.sandbox;
        let network = if needs.network.is_empty() { "none".to_owned() } else { names(&needs.network) };
        writeln!(out, "  network     {network}")?;
        for (what, folders) in [("reads", &needs.read), ("writes", &needs.write)] {
            if !folders.is_empty() {
                writeln!(out, "  {what:<11} {}", names(folders))?;
            }
        }
        Ok(())
    }
}

impl Report for Entry {
    fn to_value(&self) -> Value {
        self.to_object().into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let description = self.manifest.as_ref().map(|manifest| manifest.description.as_str()).unwrap_or_default();
        writeln!(out, "{}: {}", one_line(&self.name), one_line(description))?;
        self.write_lines(out)?;
        if let Vouched::Refused(reason) = &self.vouched {
            writeln!(out, "  refused     {}", one_line(reason))?;
        }
        Ok(())
    }
}

struct Listing(Vec<Entry>);

impl Report for Listing {
    fn to_value(&self) -> Value {
        object! { "servers" => self.0.iter().map(Report::to_value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for entry in &self.0 {
            let (description, version) = entry.manifest.as_ref().map_or_else(Default::default, |manifest| {
                (manifest.description.clone(), manifest.version.clone().unwrap_or_default())
            });
            let vouched = match &entry.vouched {
                Vouched::BuiltIn => String::new(),
                Vouched::Key(_) | Vouched::Nobody | Vouched::Refused(_) => format!(" ({})", entry.vouched.shown()),
            };
            let (name, version) = (one_line(&entry.name), one_line(&version));
            writeln!(out, "{name:<20} {version:<11} {}{}", one_line(&description), one_line(&vouched))?;
        }
        writeln!(out, "hint: `portcullis install NAME`")
    }
}

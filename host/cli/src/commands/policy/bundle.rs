//! `portcullis policy bundle`: puts the files of a folder into one signed file.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use portcullis_model::json::Value;
use portcullis_model::{PolicyName, object};
use portcullis_runtime::{Inspection, PackFile, parse_yaml};
use portcullis_signatures::{Bundle, BundleFile, Manifest};

use super::sign;
use crate::arguments::MakeBundle;
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report};
use crate::{Exit, Failure};

pub(crate) fn run(arguments: &MakeBundle) -> Result<Exit, Failure> {
    let files = files(&arguments.folder)?;
    let capabilities = check(&files)?;
    let manifest = Manifest {
        name: PolicyName::parse(&arguments.name).or_exit(Exit::Usage, "reading the name of the bundle")?,
        version: arguments.bundle_version.clone(),
        minimum_host: Some(arguments.minimum_host.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())),
        expires: arguments.expires.clone(),
        capabilities: capabilities.into_iter().collect(),
        files: Vec::new(),
    };
    let key = match &arguments.key {
        Some(key) => Some(sign::open(key, arguments.password_file.as_deref())?),
        None => None,
    };
    let sign = |bytes: &[u8]| match &key {
        Some(key) => key.sign(bytes, "manifest.json"),
        None => Ok(String::new()),
    };
    let archive = Bundle::archive(manifest, &files, sign).or_exit(Exit::Usage, "making the bundle")?;
    let output = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.bundle", arguments.name)));
    sign::write_whole(&output, &archive).or_exit(Exit::Usage, format!("writing `{}`", output.display()))?;
    let files = files.into_iter().map(|file| file.name).collect();
    let made = Made { output, files, bytes: archive.len(), key: key.map(|key| key.public().id()) };
    report::print(&made, arguments.format)?;
    Ok(Exit::Success)
}

/// Reads the files of a folder that belong into a bundle, in the order of their names.
fn files(folder: &Path) -> Result<Vec<BundleFile>, Failure> {
    let doing = || format!("reading the folder `{}`", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).or_exit(Exit::Usage, doing())? {
        let path = entry.or_exit(Exit::Usage, doing())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let belongs = [".wasm", ".yaml", ".yml"].iter().any(|end| name.ends_with(end));
        if !belongs || name.starts_with('.') || !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).or_exit(Exit::Usage, format!("reading `{}`", path.display()))?;
        files.push(BundleFile { name, bytes });
    }
    if files.is_empty() {
        let failure = Failure::new(Exit::Usage, format!("`{}` holds nothing for a bundle", folder.display()));
        return Err(failure.hint("modules `NAME.wasm`, their settings `NAME.yaml`, packs `*.pack.yaml`"));
    }
    files.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(files)
}

/// Refuses what every gateway would refuse, and returns the capabilities that modules need.
fn check(files: &[BundleFile]) -> Result<BTreeSet<String>, Failure> {
    let mut capabilities = BTreeSet::new();
    for BundleFile { name, bytes } in files {
        let doing = || format!("reading `{}`", one_line(name));
        if Path::new(name).extension().is_some_and(|end| end == "wasm") {
            let inspection = Inspection::of(bytes).or_exit(Exit::Policies, doing())?;
            capabilities.extend(inspection.capabilities.iter().map(ToString::to_string));
        } else if name.contains(".pack.") {
            let pack = PackFile::parse(bytes).or_exit(Exit::Policies, doing())?;
            if pack.policy.is_none() {
                return Err(Failure::new(Exit::Policies, format!("the pack `{}` names no policy", one_line(name))));
            }
        } else {
            parse_yaml(bytes).or_exit(Exit::Policies, doing())?;
        }
    }
    Ok(capabilities)
}

struct Made {
    output: PathBuf,
    files: Vec<String>,
    bytes: usize,
    key: Option<String>,
}

impl Report for Made {
    fn to_value(&self) -> Value {
        object! {
            "file" => self.output.display().to_string(),
            "bytes" => self.bytes as u64,
            "key" => self.key.as_deref().map_or(Value::Null, Value::from),
            "files" => self.files.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let signed = self.key.as_ref().map_or("unsigned".to_owned(), |key| format!("signed by {key}"));
        writeln!(out, "{}: {} KiB, {signed}", self.output.display(), self.bytes.div_ceil(1_024))?;
        self.files.iter().try_for_each(|name| writeln!(out, "  {}", one_line(name)))
    }
}

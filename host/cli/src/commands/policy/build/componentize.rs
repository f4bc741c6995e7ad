//! JavaScript and Python: a tool of the Bytecode Alliance, from the registry of the language, in the version that the folder names.
//!
//! The tool puts a whole interpreter into the component, which takes a while, so a component whose sources did not change is
//! taken as it is.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use portcullis_model::Digest;
use portcullis_templates::{Language, WORLD};

use super::tool;
use crate::arguments::Format;
use crate::commands::policy::project::{MANIFEST, Project};
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Files of a policy that are looked at; more are a folder that holds something else.
const MOST_FILES: usize = 10_000;

pub(super) fn build(project: &Project, tools: &Path, format: Format) -> Result<Vec<u8>, Failure> {
    let wanted = Wanted::of(project)?;
    let output = project.output();
    let (component, seen) = (project.component(), output.join(".sources"));
    let sources = sources(&project.folder)?.to_string();
    if fs::read_to_string(&seen).is_ok_and(|seen| seen == sources)
        && let Ok(wasm) = fs::read(&component)
    {
        return Ok(wasm);
    }
    let program = wanted.install(&absolute(tools)?, format)?;
    let made = absolute(&output.join("made.wasm"))?;
    let mut command = Command::new(program);
    command.current_dir(&project.folder);
    match project.language {
        Language::Python => {
            command.args(["-d", "wit", "-w", WORLD, "componentize", "-p", "src", "-o"]).arg(&made).arg("policy");
        }
        Language::JavaScript | Language::Rust | Language::C => {
            command.arg(project.language.source()).args(["-w", "wit", "-n", WORLD, "-o"]).arg(&made);
            // Nothing of a system: without these the component imports nothing but what its world does.
            command.args(["-d", "stdio", "random", "clocks", "http", "fetch-event"]);
        }
    }
    let hint = "the message above is of the tool; it names the place in the sources";
    tool(&mut command, &format!("building with {}", wanted.directory()), hint, format)?;
    let wasm = fs::read(&made).or_exit(Exit::Failed, format!("reading {}", made.display()))?;
    drop(fs::remove_file(&made));
    fs::write(&seen, sources).or_exit(Exit::Usage, format!("writing {}", seen.display()))?;
    Ok(wasm)
}

/// The tool that a folder names.
struct Wanted {
    language: Language,
    version: String,
}

impl Wanted {
    /// Reads it: the package is that of the language, whatever the folder says; the version is the folder's.
    fn of(project: &Project) -> Result<Self, Failure> {
        let known = project.language.tool().unwrap_or_default();
        let package = package(project.language);
        let written = project.tool.as_deref().unwrap_or(known);
        let version = written.strip_prefix(package).filter(|version| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        });
        let version = version.ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`tool` of {MANIFEST} is not `{package}` with a version"))
                .hint(format!("it is `{known}` in a new folder"))
        })?;
        Ok(Self { language: project.language, version: version.to_owned() })
    }

    fn directory(&self) -> String {
        let name = if self.language == Language::Python { "componentize-py" } else { "componentize-js" };
        format!("{name}-{}", self.version)
    }

    /// Installs the tool where it is not yet, and returns its program.
    fn install(&self, tools: &Path, format: Format) -> Result<PathBuf, Failure> {
        let folder = tools.join(self.directory());
        let step = format!("installing {}", self.directory());
        let package = format!("{}{}", package(self.language), self.version);
        if self.language == Language::Python {
            let program = folder.join("bin").join("componentize-py");
            if !program.exists() {
                let python = "it needs Python 3.10 or newer with venv: `apt install python3-venv`";
                tool(Command::new("python3").args(["-m", "venv"]).arg(&folder), &step, python, format)?;
                let pip = ["install", "--quiet", "--disable-pip-version-check"];
                let registry = "it comes from PyPI, which has to be reachable once";
                tool(Command::new(folder.join("bin").join("pip")).args(pip).arg(package), &step, registry, format)?;
            }
            return Ok(program);
        }
        let program = folder.join("node_modules").join(".bin").join("componentize-js");
        if !program.exists() {
            fs::create_dir_all(&folder).or_exit(Exit::Usage, format!("creating {}", folder.display()))?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(package);
            tool(
                &mut npm,
                &step,
                "it needs Node.js 20 or newer, and comes from npm, which has to be reachable once",
                format,
            )?;
        }
        Ok(program)
    }
}

/// The package of a language's tool, up to its version.
fn package(language: Language) -> &'static str {
    if language == Language::Python { "componentize-py==" } else { "@bytecodealliance/componentize-js@" }
}

/// Returns a path that means the same in whatever folder a tool runs.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).or_exit(Exit::Usage, format!("finding {}", path.display()))
}

/// Returns the digest of everything that the component is made of.
fn sources(folder: &Path) -> Result<Digest, Failure> {
    let mut files = vec![folder.join(MANIFEST)];
    for part in ["src", "wit"] {
        collect(&folder.join(part), &mut files)?;
    }
    files.sort();
    let mut parts = Vec::new();
    for file in files {
        let bytes = fs::read(&file).or_exit(Exit::Usage, format!("reading {}", file.display()))?;
        let place = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        parts.extend([place.into_bytes(), bytes]);
    }
    Ok(Digest::of_parts(parts.iter().map(Vec::as_slice)))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let doing = || format!("reading the folder {}", folder.display());
    for entry in fs::read_dir(folder).or_exit(Exit::Usage, doing())? {
        let entry = entry.or_exit(Exit::Usage, doing())?;
        // What interpreters leave behind is no source. A link could lead anywhere, also in circles.
        if entry.file_name() == OsStr::new("__pycache__") || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        if entry.path().is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
        if files.len() > MOST_FILES {
            return Err(Failure::new(Exit::Usage, format!("{}: more than {MOST_FILES} files", doing())));
        }
    }
    Ok(())
}

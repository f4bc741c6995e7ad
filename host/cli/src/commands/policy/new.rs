//! `portcullis policy new`: a folder that builds.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use portcullis_templates::{EXAMPLE, Project};

use crate::arguments::PolicyNew;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Writes the files of a new policy into a folder of its name, which must not exist yet.
pub(crate) fn run(arguments: &PolicyNew) -> Result<Exit, Failure> {
    let gates: Vec<_> = arguments.gates.iter().map(|gate| (*gate).into()).collect();
    let project = match &arguments.name {
        None => Project::example(arguments.language),
        Some(name) => Project::new(name, arguments.language, &gates),
    };
    let project = project.or_exit(Exit::Usage, "beginning a policy")?;
    let folder = Path::new(project.name().as_str());
    fs::create_dir(folder)
        .or_exit(Exit::Usage, format!("creating the folder {}", folder.display()))
        .map_err(|failure| failure.hint("choose another name, or remove what is there"))?;
    for (path, text) in project.files() {
        let path = folder.join(path);
        let doing = || format!("writing {}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(folder)).or_exit(Exit::Usage, doing())?;
        fs::write(&path, text.as_bytes()).or_exit(Exit::Usage, doing())?;
    }
    let source = arguments.language.source();
    let what = if arguments.name.is_none() { format!("the example `{EXAMPLE}`") } else { "a policy".to_owned() };
    let mut out = io::stdout().lock();
    let written = writeln!(
        out,
        "{name}: {what} in {language}; it lies in {name}/{source}\n\nnext:\n  cd {name}\n  portcullis policy build\n  portcullis policy test",
        name = project.name(),
        language = arguments.language,
    );
    written.or_exit(Exit::Internal, "writing to standard output")?;
    Ok(Exit::Success)
}

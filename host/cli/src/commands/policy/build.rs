//! `portcullis policy build`: from the sources of a policy to its component.

mod c;
mod componentize;
mod encode;
mod rust;

use std::fs;
use std::io::{self, Write};

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_runtime::Inspection;
use portcullis_templates::Language;

use super::project::Project;
use crate::arguments::{Format, PolicyBuild};
use crate::failure::{OrExit as _, one_line};
use crate::policy_report::names;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Builds the component of a folder, and shows what it is.
pub(crate) fn run(settings: &Settings, arguments: &PolicyBuild) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let project = Project::read(&arguments.folder)?;
    let output = project.output();
    fs::create_dir_all(&output).or_exit(Exit::Usage, format!("creating {}", output.display()))?;
    let wasm = match project.language {
        Language::Rust => rust::build(&project, arguments.format)?,
        Language::C => c::build(&project, arguments.format)?,
        Language::JavaScript | Language::Python => {
            let tools = match &arguments.tools {
                Some(tools) => tools.clone(),
                None => settings.open_home()?.path().join("tools"),
            };
            componentize::build(&project, &tools, arguments.format)?
        }
    };
    let path = project.component();
    // Whoever watches the place sees the old component or the new one, never a part.
    let beside = output.join(format!(".{}.new", project.name));
    let doing = || format!("writing {}", path.display());
    fs::write(&beside, &wasm).or_exit(Exit::Usage, doing())?;
    fs::rename(&beside, &path).or_exit(Exit::Usage, doing())?;
    let inspection = Inspection::of(&wasm).or_exit(Exit::Policies, "inspecting what was built")?;
    let built = Built { path: path.display().to_string(), inspection, took: begun.elapsed() };
    report::print(&built, arguments.format)?;
    Ok(Exit::Success)
}

/// Runs a tool and returns what it wrote to standard output. What it says of a failure is shown as it says it.
fn tool(command: &mut Command, step: &str, hint: &str, format: Format) -> Result<Vec<u8>, Failure> {
    let progress = Progress::start(step, format);
    let output = command.stdin(Stdio::null()).output();
    drop(progress);
    let program = command.get_program().display().to_string();
    let output = output
        .or_exit(Exit::Usage, format!("{step}: starting `{program}`"))
        .map_err(|failure| failure.hint(hint.to_owned()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut stderr = io::stderr().lock();
    let _unwritable = stderr.write_all(&output.stderr);
    if output.stderr.is_empty() {
        let _unwritable = stderr.write_all(&output.stdout);
    }
    Err(Failure::new(Exit::Failed, format!("{step}: `{program}` failed; its words stand above")).hint(hint.to_owned()))
}

struct Built {
    path: String,
    inspection: Inspection,
    took: Duration,
}

impl Report for Built {
    fn to_value(&self) -> Value {
        let texts = |texts: Vec<String>| texts.into_iter().map(Value::from).collect::<Vec<_>>();
        object! {
            "component" => self.path.as_str(),
            "bytes" => self.inspection.size as u64,
            "module" => self.inspection.digest.to_string(),
            "gates" => texts(self.inspection.gates.iter().map(ToString::to_string).collect()),
            "imports" => texts(self.inspection.imports.clone()),
            "took_ms" => u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", one_line(&self.path))?;
        writeln!(out, "size     {} KiB", self.inspection.size.div_ceil(1_024))?;
        writeln!(out, "module   {}", self.inspection.digest)?;
        writeln!(out, "gates    {}", names(&self.inspection.gates))?;
        writeln!(out, "imports  {}", one_line(&self.inspection.imports.join(", ")))?;
        writeln!(out, "took     {:.1} s", self.took.as_secs_f64())
    }
}

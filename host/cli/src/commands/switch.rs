//! `portcullis remove`, `enable` and `disable`: small changes to the config, with everything else left as it is.

use std::io::{self, Write};
use std::path::PathBuf;

use portcullis_config::EditError;
use portcullis_model::json::Value;
use portcullis_model::object;

use crate::arguments::Named;
use crate::config_file::ConfigEdit;
use crate::failure::one_line;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Removes a server from the config. Its secrets, pins and journal stay.
pub(crate) fn remove(settings: &Settings, named: &Named) -> Result<Exit, Failure> {
    change(settings, named, "removed", |edit| edit.text.remove_server(&named.name).map(|()| true))
}

/// Switches a server on. What it starts is screened when it starts.
pub(crate) fn enable(settings: &Settings, named: &Named) -> Result<Exit, Failure> {
    change(settings, named, "enabled", |edit| edit.text.switch_server(&named.name, true))
}

/// Switches a server off.
pub(crate) fn disable(settings: &Settings, named: &Named) -> Result<Exit, Failure> {
    change(settings, named, "disabled", |edit| edit.text.switch_server(&named.name, false))
}

fn change(
    settings: &Settings,
    named: &Named,
    done: &'static str,
    change: impl FnOnce(&mut ConfigEdit) -> Result<bool, EditError>,
) -> Result<Exit, Failure> {
    let mut edit = ConfigEdit::open(settings, &named.config)?;
    let changed = match change(&mut edit) {
        Ok(changed) => changed,
        Err(EditError::Missing(_)) => return Err(edit.unknown(&named.name)),
        Err(error) => return Err(Failure::caused(Exit::Config, "changing the config", error)),
    };
    if changed {
        edit.save()?;
    }
    report::print(&Changed { name: &named.name, path: edit.path(), done, is_new: changed }, named.format)?;
    Ok(Exit::Success)
}

/// What was changed.
pub(crate) struct Changed<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: PathBuf,
    pub(crate) done: &'static str,
    /// False where it was so before.
    pub(crate) is_new: bool,
}

impl Report for Changed<'_> {
    fn to_value(&self) -> Value {
        object! {
            "server" => self.name,
            "file" => self.path.display().to_string(),
            "done" => self.done,
            "changed" => self.is_new,
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let was = if self.is_new { "" } else { " already" };
        writeln!(out, "{}: {}{was} in {}", one_line(self.name), self.done, self.path.display())
    }
}

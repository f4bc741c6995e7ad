//! The config while a command changes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use portcullis_config::{Config, ConfigText, Source};
use portcullis_model::Secret;

use crate::arguments::ConfigFile;
use crate::backup::Change;
use crate::failure::{OrExit as _, one_line};
use crate::files::FileText;
use crate::settings::{Settings, origin};
use crate::{Exit, Failure};

/// The config while a command changes it. Nothing is written before [`ConfigEdit::save`].
#[derive(Debug)]
pub(crate) struct ConfigEdit {
    file: FileText,
    /// The text, to be changed.
    pub(crate) text: ConfigText,
}

impl ConfigEdit {
    /// Opens the config that was named, or the one of the home folder. One that is missing is empty.
    pub(crate) fn open(settings: &Settings, named: &ConfigFile) -> Result<Self, Failure> {
        let path = settings.config_path(named);
        let doing = || format!("reading the config {}", path.display());
        let file = FileText::read(&path).or_exit(Exit::Config, doing())?;
        let text = String::from_utf8(file.bytes.clone().unwrap_or_default()).or_exit(Exit::Config, doing())?;
        let text = ConfigText::parse(text)
            .or_exit(Exit::Config, doing())
            .map_err(|failure| failure.hint("mend it first: `portcullis check` shows all that is wrong"))?;
        Ok(Self { file, text })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.file.path.clone()
    }

    /// Reads the text as it is now, with variables that are not in any file yet.
    pub(crate) fn config(&self, settings: &Settings, new: BTreeMap<String, Secret>) -> Result<Config, Failure> {
        let origin = origin(&self.file.path);
        let surroundings = settings.surroundings()?.with_variables(new);
        let config = Config::parse(self.text.as_str(), &self.file.path.display().to_string(), origin, &surroundings);
        Ok(Config { source: Some(Source { path: self.path(), origin }), ..config })
    }

    /// Returns what becomes of the file.
    pub(crate) fn change(&self) -> Change {
        Change { before: self.file.clone(), after: self.text.as_str().as_bytes().to_vec(), private: false }
    }

    /// Writes the text, unless somebody else wrote the file meanwhile.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        self.file.replace(self.text.as_str().as_bytes()).or_exit(Exit::Config, "writing the config")
    }

    /// Returns the failure of a name that no server has.
    pub(crate) fn unknown(&self, name: &str) -> Failure {
        let names = self.text.server_names();
        let known = if names.is_empty() { "the config names none".to_owned() } else { names.join(", ") };
        Failure::new(Exit::Usage, format!("the config has no server `{}`", one_line(name)))
            .hint(format!("servers: {}", one_line(&known)))
    }
}

//! The command line with everything it means: defaults, environment and home folder put in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_config::{Config, Surroundings};
use portcullis_model::Origin;
use portcullis_store::{Home, SqliteStore};

use crate::arguments::{ConfigFile, Global};
use crate::failure::OrExit as _;
use crate::{Exit, Failure, gateway, secrets_file};

/// What every command needs to know of its surroundings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    home: PathBuf,
    /// What is logged; nothing means what the command needs.
    pub(crate) log: Option<String>,
}

impl Settings {
    /// Resolves the options of every command.
    pub(crate) fn resolve(global: &Global, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let home = match &global.home {
            Some(folder) => folder.clone(),
            None => Home::locate(variable("PORTCULLIS_HOME"), variable("HOME"))
                .or_exit(Exit::State, "finding the home folder")
                .map_err(|failure| failure.hint("set `PORTCULLIS_HOME` to a folder of your own"))?,
        };
        let from_variable = || variable("PORTCULLIS_LOG").and_then(|text| text.into_string().ok());
        let log = global.log.clone().or_else(from_variable).filter(|filter| !filter.is_empty());
        Ok(Self { home, log })
    }

    /// Opens the home folder, creating it where it is missing.
    pub(crate) fn open_home(&self) -> Result<Home, Failure> {
        Home::open(&self.home)
            .or_exit(Exit::State, "opening the home folder")
            .map_err(|failure| failure.hint("name a folder of your own with `--home` or `PORTCULLIS_HOME`"))
    }

    /// Opens the database that a gateway with this config uses. Without a config it is the one of the home folder.
    pub(crate) fn open_store(&self, file: &ConfigFile) -> Result<Arc<SqliteStore>, Failure> {
        let journal = match self.read_config(file) {
            Ok((_, config)) => config.journal,
            Err(_) if file.config.is_none() => Config::default().journal,
            Err(failure) => return Err(failure),
        };
        gateway::open_store(&self.open_home()?, &journal)
    }

    /// Returns the path of the home folder, which may not be there.
    pub(crate) fn home_path(&self) -> &Path {
        &self.home
    }

    /// Returns true where the home folder is the one that is used where nothing is said.
    pub(crate) fn is_usual_home(&self) -> bool {
        Home::locate(None, std::env::var_os("HOME")).is_ok_and(|usual| usual == self.home)
    }

    /// Returns the path of the config that was named, or of the one of the home folder.
    pub(crate) fn config_path(&self, file: &ConfigFile) -> PathBuf {
        file.config.clone().unwrap_or_else(|| self.home.join("config.yaml"))
    }

    /// Returns what configs take from outside: this process, and the secrets of the home.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, Failure> {
        surroundings(&self.home)
    }

    /// Reads the config that was named, or the one of the home folder.
    pub(crate) fn read_config(&self, file: &ConfigFile) -> Result<(PathBuf, Config), Failure> {
        let path = self.config_path(file);
        let config =
            Config::read(&path, origin(&path), &self.surroundings()?).or_exit(Exit::Config, "reading the config");
        let hint = if file.config.is_some() {
            "check the path after `--config`"
        } else {
            "`portcullis add` and `portcullis import` make one, `--config` names another, and `portcullis wrap -- CMD` \
             runs one server without a config"
        };
        Ok((path, config.map_err(|failure| failure.hint(hint))?))
    }
}

/// Returns what configs take from outside: this process, and the secrets of a home.
pub(crate) fn surroundings(home: &Path) -> Result<Surroundings, Failure> {
    Ok(Surroundings::process().with_variables(secrets_file::read(home)?))
}

/// A JSON file is the config of a client application; ours is YAML.
pub(crate) fn origin(path: &Path) -> Origin {
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("json") => Origin::ClientConfig,
        Some(_) | None => Origin::ConfigFile,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_wins_over_a_variable_and_a_variable_over_the_default() {
        let variable = |name: &str| match name {
            "PORTCULLIS_HOME" => Some("/from/variable".into()),
            "HOME" => Some("/home/ada".into()),
            "PORTCULLIS_LOG" => Some("debug".into()),
            _ => None,
        };
        let option = Global { home: Some("/from/option".into()), log: Some("trace".to_owned()) };
        let settings = Settings::resolve(&option, variable).unwrap();
        assert_eq!((settings.home.as_path(), settings.log.as_deref()), (Path::new("/from/option"), Some("trace")));
        let settings = Settings::resolve(&Global::default(), variable).unwrap();
        assert_eq!((settings.home.as_path(), settings.log.as_deref()), (Path::new("/from/variable"), Some("debug")));
        let settings = Settings::resolve(&Global::default(), |name| variable(name).filter(|_| name == "HOME"));
        assert_eq!(settings.unwrap().home.as_path(), Path::new("/home/ada/.portcullis"));
        assert_eq!(Settings::resolve(&Global::default(), |_| None).unwrap_err().exit(), Exit::State);
    }

    #[test]
    fn a_missing_config_says_what_to_do_instead() {
        let folder = tempfile::tempdir().unwrap();
        let global = Global { home: Some(folder.path().to_owned()), log: None };
        let settings = Settings::resolve(&global, |_| None).unwrap();
        let failure = settings.read_config(&ConfigFile::default()).unwrap_err();
        assert_eq!(failure.exit(), Exit::Config);
        assert!(failure.to_string().contains("portcullis wrap"), "{failure}");
    }
}

//! What interpolation and paths take from outside the config.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use portcullis_model::Secret;
use portcullis_model::json::Value;

use crate::interpolation;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What interpolation and paths take from outside the config.
pub struct Surroundings {
    variable: Box<Lookup>,
    home: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

impl Surroundings {
    /// Returns the surroundings of this process: its environment, the user's home and the working directory.
    pub fn process() -> Self {
        let home = ["HOME", "USERPROFILE"].iter().find_map(std::env::var_os).map(PathBuf::from);
        Self {
            variable: Box::new(|name| std::env::var(name).ok()),
            home: home.filter(|home| !home.as_os_str().is_empty()),
            workspace: std::env::current_dir().ok(),
        }
    }

    /// Returns surroundings without home and workspace that answer variables by a function.
    pub fn new(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { variable: Box::new(variable), home: None, workspace: None }
    }

    /// Adds variables that are looked at where the ones before have none of that name.
    #[must_use]
    pub fn with_variables(self, variables: BTreeMap<String, Secret>) -> Self {
        let first = self.variable;
        let more = move |name: &str| variables.get(name).map(|value| value.expose().to_owned());
        Self { variable: Box::new(move |name| first(name).or_else(|| more(name))), ..self }
    }

    /// Returns the variables that the texts of a value name and that are not set here, without those that have a default.
    pub fn unset_in(&self, value: &Value) -> Vec<String> {
        interpolation::unset(value, self)
    }

    /// Sets the user's home.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Sets the workspace folder.
    #[must_use]
    pub fn with_workspace(mut self, workspace: impl Into<PathBuf>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Returns the value of a variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    /// Returns the workspace folder.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// Returns the user's home.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns a path with a leading `~` replaced by the user's home, and spaces around it removed.
    pub(crate) fn expand(&self, path: &str) -> String {
        let path = path.trim();
        let rest = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => rest,
            Some(_) | None => return path.to_owned(),
        };
        self.home().map_or_else(|| path.to_owned(), |home| format!("{}{rest}", home.display()))
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Surroundings")
            .field("home", &self.home)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tilde_of_ones_own_is_expanded() {
        let surroundings = Surroundings::new(|_| None).with_home("/home/u");
        assert_eq!(surroundings.expand(" ~/bin/x "), "/home/u/bin/x");
        assert_eq!(surroundings.expand("~"), "/home/u");
        assert_eq!(surroundings.expand("~other/x"), "~other/x");
        assert_eq!(surroundings.expand("a~/x"), "a~/x");
    }
}

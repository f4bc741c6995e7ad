//! The changes that commands make to the servers of a config.

use portcullis_model::json::Value;

use super::{ConfigText, EditError};
use crate::config::SERVER_KEYS;

impl ConfigText {
    /// Returns the names of all servers, in file order, those that can't be run included.
    pub fn server_names(&self) -> Vec<String> {
        let root = self.to_value();
        let sections = SERVER_KEYS.iter().filter_map(|key| root.get(key).and_then(Value::as_object));
        sections.flat_map(|section| section.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()).collect()
    }

    /// Returns what is written of a server, variables not put in.
    pub fn server(&self, name: &str) -> Option<Value> {
        let root = self.to_value();
        SERVER_KEYS.iter().find_map(|key| root.get(key).and_then(|section| section.get(name)).cloned())
    }

    /// Adds a server, or replaces the one of that name where `replace` says so.
    ///
    /// # Errors
    /// There is one of that name, or the text can't be changed safely.
    pub fn add_server(&mut self, name: &str, entry: &Value, replace: bool) -> Result<(), EditError> {
        if let Some(section) = self.section_of(name) {
            if !replace {
                return Err(EditError::Present(name.to_owned()));
            }
            return self.set(&[section, name], entry);
        }
        let root = self.to_value();
        let section = SERVER_KEYS.into_iter().find(|key| root.get(key).is_some()).unwrap_or("mcp_servers");
        self.set(&[section, name], entry)
    }

    /// Removes a server. Comments above it stay.
    ///
    /// # Errors
    /// There is none, or the text can't be changed safely.
    pub fn remove_server(&mut self, name: &str) -> Result<(), EditError> {
        let section = self.found(name)?;
        self.remove(&[section, name])
    }

    /// Switches a server on or off. Returns whether that changed anything.
    ///
    /// # Errors
    /// There is none, or the text can't be changed safely.
    pub fn switch_server(&mut self, name: &str, on: bool) -> Result<bool, EditError> {
        let section = self.found(name)?;
        let before = self.text.clone();
        let entry = self.server(name).unwrap_or(Value::Null);
        if entry.get("disabled").is_some() {
            self.remove(&[section, name, "disabled"])?;
        }
        if !on || entry.get("enabled").is_some() {
            self.set(&[section, name, "enabled"], &on.into())?;
        }
        Ok(self.text != before)
    }

    /// Sets which tools of a server are used; nothing lifts a list. What is said of resources and prompts stays.
    ///
    /// # Errors
    /// There is none, or the text can't be changed safely.
    pub fn filter_tools(
        &mut self,
        name: &str,
        include: Option<&[String]>,
        exclude: Option<&[String]>,
    ) -> Result<(), EditError> {
        let section = self.found(name)?;
        let mut changed = self.clone();
        let tools = self.server(name).and_then(|entry| entry.get("tools").cloned());
        // The shorthand, a list or a text of names, gives way to the map.
        if tools.as_ref().is_some_and(|tools| tools.as_object().is_none()) {
            changed.remove(&[section, name, "tools"])?;
        }
        for (key, list) in [("include", include), ("exclude", exclude)] {
            let path = [section, name, "tools", key];
            let is_set = tools.as_ref().is_some_and(|tools| tools.get(key).is_some());
            match list {
                Some(list) => {
                    let list: Vec<Value> = list.iter().map(|tool| Value::from(tool.as_str())).collect();
                    changed.set(&path, &list.into())?;
                }
                None if is_set => changed.remove(&path)?,
                None => {}
            }
        }
        *self = changed;
        Ok(())
    }

    fn section_of(&self, name: &str) -> Option<&'static str> {
        let root = self.to_value();
        SERVER_KEYS.into_iter().find(|key| root.get(key).is_some_and(|section| section.get(name).is_some()))
    }

    fn found(&self, name: &str) -> Result<&'static str, EditError> {
        self.section_of(name).ok_or_else(|| EditError::Missing(name.to_owned()))
    }
}

//! The way from the root of a config to a value.

use std::fmt;

/// The keys and indexes that lead to a value: `mcp_servers.github.args[2]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(String);

impl KeyPath {
    /// Returns the path of a member. Keys that would read as several are quoted.
    pub(crate) fn key(&self, key: &str) -> Self {
        let plain = !key.is_empty() && key.chars().all(|one| one.is_alphanumeric() || matches!(one, '_' | '-' | '/'));
        let mut text = self.0.clone();
        if !text.is_empty() {
            text.push('.');
        }
        let quoted = if plain { key.to_owned() } else { format!("{key:?}") };
        text.push_str(&quoted);
        Self(text)
    }

    /// Returns the path of an element.
    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// Returns the text of the path.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_would_read_as_several_are_quoted() {
        let path = KeyPath::default().key("mcp_servers").key("my.server").key("args").index(2);
        assert_eq!(path.as_str(), "mcp_servers.\"my.server\".args[2]");
    }
}

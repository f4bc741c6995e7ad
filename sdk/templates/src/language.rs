//! The languages that there are templates for.

use std::fmt;

/// A language that a policy is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Rust, for `wasm32-unknown-unknown`.
    Rust,
    /// JavaScript, by `componentize-js`.
    JavaScript,
    /// Python, by `componentize-py`.
    Python,
    /// C, by clang and wasm-ld.
    C,
}

/// A text names no language that there is a template for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no language with a template; there are rust, js, python and c")]
pub struct UnknownLanguage(String);

impl Language {
    /// All languages.
    pub const ALL: [Self; 4] = [Self::Rust, Self::JavaScript, Self::Python, Self::C];

    /// Returns the name used on the command line and in `policy.yaml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::Python => "python",
            Self::C => "c",
        }
    }

    /// Returns the language of that name.
    pub fn parse(text: &str) -> Result<Self, UnknownLanguage> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == text)
            .ok_or_else(|| UnknownLanguage(text.chars().take(64).collect()))
    }

    /// Returns the tool that makes the component, with its exact version, as its registry writes it; nothing where the
    /// program encodes the component itself.
    pub fn tool(self) -> Option<&'static str> {
        match self {
            Self::JavaScript => Some("@bytecodealliance/componentize-js@0.23.0"),
            Self::Python => Some("componentize-py==0.25.1"),
            Self::Rust | Self::C => None,
        }
    }

    /// Returns the file that the author writes.
    pub fn source(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::JavaScript => "src/policy.js",
            Self::Python => "src/policy.py",
            Self::C => "src/policy.c",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

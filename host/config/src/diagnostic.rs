//! What is wrong with a config, and where.

use std::fmt;
use std::sync::Arc;

use portcullis_model::json::Value;
use portcullis_model::object;

/// How bad a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Read in a way that may not be what was meant.
    Warning,
    /// Not usable: what it belongs to is left out.
    Error,
}

impl Level {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What kind of mistake it is; the stable code of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The text is no YAML or JSON.
    Syntax,
    /// A bound on size, depth, nodes or interpolated text was reached.
    TooLarge,
    /// A map has the same key twice.
    DuplicateKey,
    /// A key that means nothing here.
    UnknownKey,
    /// A value of the wrong type.
    WrongType,
    /// A value of the right type that can't be used.
    BadValue,
    /// A key that must be there is not.
    MissingKey,
    /// A variable that is not set.
    UnsetVariable,
    /// Two keys that do not go together.
    Conflict,
    /// A key that is understood and not supported yet.
    NotSupported,
    /// A spelling of another program that was understood.
    Alias,
}

impl DiagnosticKind {
    /// Returns the stable code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::TooLarge => "too-large",
            Self::DuplicateKey => "duplicate-key",
            Self::UnknownKey => "unknown-key",
            Self::WrongType => "wrong-type",
            Self::BadValue => "bad-value",
            Self::MissingKey => "missing-key",
            Self::UnsetVariable => "unset-variable",
            Self::Conflict => "conflict",
            Self::NotSupported => "not-supported",
            Self::Alias => "alias",
        }
    }
}

/// One mistake of a config. Holds no value of a variable and no text that came out of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// What kind it is.
    pub kind: DiagnosticKind,
    /// The file, as it was named to the reader.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The way to the value, like `mcp_servers.github.timeout`; empty for the whole file.
    pub key_path: String,
    /// The server that it belongs to.
    pub server: Option<String>,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Returns the diagnostic as JSON, for scripts.
    pub fn to_value(&self) -> Value {
        let mut object = object! {
            "level" => self.level.as_str(),
            "code" => self.kind.as_str(),
            "file" => &*self.file,
            "line" => self.line as u64,
            "column" => self.column as u64,
            "key" => self.key_path.as_str(),
            "message" => self.message.as_str(),
        };
        if let Some(server) = &self.server {
            object.insert("server", server.as_str());
        }
        if let Some(hint) = &self.hint {
            object.insert("hint", hint.as_str());
        }
        object.into()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}[{}] {}", self.level.as_str(), self.kind.as_str(), self.file)?;
        if self.line > 0 {
            write!(formatter, ":{}:{}", self.line, self.column)?;
        }
        if !self.key_path.is_empty() {
            write!(formatter, " {}", self.key_path)?;
        }
        write!(formatter, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(formatter, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

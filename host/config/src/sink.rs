//! Where diagnostics are gathered while a config is read.

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Level};
use crate::key_path::KeyPath;
use crate::tree::Place;

/// More diagnostics than this help nobody; the rest is counted.
const MOST: usize = 500;

/// A mistake before it is known which file and server it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    level: Level,
    kind: DiagnosticKind,
    message: String,
    hint: Option<String>,
}

impl Mistake {
    pub(crate) fn error(kind: DiagnosticKind, message: impl Into<String>) -> Self {
        Self { level: Level::Error, kind, message: message.into(), hint: None }
    }

    pub(crate) fn warning(kind: DiagnosticKind, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(kind, message) }
    }

    pub(crate) fn note(kind: DiagnosticKind, message: impl Into<String>) -> Self {
        Self { level: Level::Note, ..Self::error(kind, message) }
    }

    /// Returns the message alone.
    pub(crate) fn into_message(self) -> String {
        self.message
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

/// Gathers diagnostics, and remembers which servers have an error.
#[derive(Debug)]
pub(crate) struct Sink {
    file: Arc<str>,
    server: Option<String>,
    softened: bool,
    broken: HashSet<String>,
    diagnostics: Vec<Diagnostic>,
    dropped: usize,
}

impl Sink {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.into(),
            server: None,
            softened: false,
            broken: HashSet::new(),
            diagnostics: Vec::new(),
            dropped: 0,
        }
    }

    /// Sets the server that what follows belongs to.
    pub(crate) fn enter(&mut self, server: Option<&str>) {
        self.server = server.map(str::to_owned);
    }

    /// Sets whether errors are lowered to warnings from now on.
    pub(crate) fn soften(&mut self, softened: bool) {
        self.softened = softened;
    }

    /// Takes a mistake. An error marks the current server as broken.
    pub(crate) fn push(&mut self, path: &KeyPath, place: Place, mut mistake: Mistake) {
        if self.softened {
            mistake.level = mistake.level.min(Level::Warning);
        }
        if let (Level::Error, Some(server)) = (mistake.level, &self.server) {
            self.broken.insert(server.clone());
        }
        if self.diagnostics.len() >= MOST {
            self.dropped += 1;
            return;
        }
        self.diagnostics.push(Diagnostic {
            level: mistake.level,
            kind: mistake.kind,
            file: self.file.clone(),
            line: place.line,
            column: place.column,
            key_path: path.as_str().to_owned(),
            server: self.server.clone(),
            message: mistake.message,
            hint: mistake.hint,
        });
    }

    /// Returns true where the server has an error.
    pub(crate) fn is_broken(&self, server: &str) -> bool {
        self.broken.contains(server)
    }

    /// Returns what was gathered, in the order of the file.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        if self.dropped > 0 {
            self.server = None;
            self.diagnostics.push(Diagnostic {
                level: Level::Warning,
                kind: DiagnosticKind::TooLarge,
                file: self.file,
                line: 0,
                column: 0,
                key_path: String::new(),
                server: None,
                message: format!("{} more diagnostics are not shown", self.dropped),
                hint: None,
            });
        }
        self.diagnostics
    }
}

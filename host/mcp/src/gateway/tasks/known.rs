//! What tasks servers make, remembered from when they were last connected: a client is told what it may use before any
//! server runs.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_model::json::{Limits, Object, Value, parse_with};
use portcullis_model::object;

use super::TaskForm;
use crate::gateway::Greeting;
use crate::gateway::schema_cache::{fingerprint_of, replace};
use crate::gateway::server::Server;

/// The name of the file.
const FILE: &str = "tasks.json";
/// The form of the file. One of another form is no memory.
const FORM: u64 = 1;
/// The file has less than a hundred bytes a server.
const LONGEST: u64 = 64 * 1024;
/// So many servers are remembered; configs have a few dozen. With more, those of earlier processes are forgotten.
const MOST: usize = 512;

/// Whether a server makes tasks, by the name and fingerprint of its entry.
type Forms = HashMap<String, Option<TaskForm>>;

/// What tasks servers make.
pub(crate) struct Known {
    forms: Mutex<Forms>,
    file: Option<Arc<Kept>>,
}

/// The file, written by one at a time.
struct Kept {
    path: PathBuf,
    writing: Mutex<()>,
}

impl Known {
    /// Reads what is remembered in `folder`, where there is one.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        let file = folder.map(|folder| Arc::new(Kept { path: folder.join(FILE), writing: Mutex::default() }));
        let forms = file.as_ref().and_then(|file| load(&file.path)).unwrap_or_default();
        Self { forms: Mutex::new(forms), file }
    }

    fn forms(&self) -> MutexGuard<'_, Forms> {
        self.forms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what tasks a server makes, where that is known.
    pub(crate) fn of(&self, server: &Server) -> Option<TaskForm> {
        self.forms().get(&key_of(server)).copied().flatten()
    }

    /// Notes what a server said when it was connected.
    pub(crate) fn note(&self, server: &Server, greeting: &Greeting) {
        let form = greeting.tasks();
        let text = {
            let mut forms = self.forms();
            // That a server makes none is what is taken of an unknown one as well.
            let key = key_of(server);
            if forms.get(&key).copied().flatten() == form {
                return;
            }
            if forms.len() >= MOST {
                forms.clear();
            }
            forms.insert(key, form);
            written(&forms)
        };
        if let Some(file) = self.file.clone() {
            tokio::task::spawn_blocking(move || {
                let _one = file.writing.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = replace(&file.path, text.as_bytes()) {
                    tracing::warn!(%error, "what tasks servers make could not be kept");
                }
            });
        }
    }
}

fn key_of(server: &Server) -> String {
    format!("{}\n{}", server.name().as_str(), fingerprint_of(&server.entry(), &server.options()))
}

fn written(forms: &Forms) -> String {
    let mut servers = Object::new();
    let mut keys: Vec<&String> = forms.keys().collect();
    keys.sort_unstable();
    for key in keys {
        let word = match forms.get(key).copied().flatten() {
            Some(TaskForm::Extension) => "extension",
            Some(TaskForm::Augmented { cancel: false }) => "augmented",
            Some(TaskForm::Augmented { cancel: true }) => "augmented-cancel",
            None => continue,
        };
        servers.insert(key.as_str(), word);
    }
    Value::from(object! { "form" => FORM, "servers" => servers }).to_json()
}

fn load(path: &Path) -> Option<Forms> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > LONGEST {
        return None;
    }
    let document = parse_with(&text, Limits::WIRE).ok()?;
    if document.get("form").and_then(Value::as_u64) != Some(FORM) {
        return None;
    }
    let servers = document.get("servers")?.as_object()?;
    let form = |value: &Value| match value.as_str() {
        Some("extension") => Some(TaskForm::Extension),
        Some("augmented") => Some(TaskForm::Augmented { cancel: false }),
        Some("augmented-cancel") => Some(TaskForm::Augmented { cancel: true }),
        Some(_) | None => None,
    };
    Some(servers.iter().take(MOST).map(|(key, value)| (key.to_owned(), form(value))).collect())
}

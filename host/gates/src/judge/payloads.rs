//! How each payload meets its gate.

use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, Digest, GateName, Launch, RequestKind, ResultKind, Secret, ServerName};

use super::Payload;
use crate::approval::{shown_definition, shown_value};
use crate::inbox::Hold;
use crate::segments::{self, Place, Segmented, TooLarge};
use crate::{Call, Context, Gates, Launching, ServerMessage, ServerRequest};

impl Payload for Launching {
    const GATE: GateName = GateName::Config;

    fn server(&self) -> &ServerName {
        &self.entry.name
    }

    fn name(&self) -> &str {
        self.entry.name.as_str()
    }

    fn digest(&self, gates: &Gates) -> Digest {
        gates.keyed_digest(&self.entry.document)
    }

    fn document(&self) -> &Value {
        &self.entry.document
    }

    fn subject(&self) -> Result<Segmented, TooLarge> {
        segments::launching(self)
    }

    fn editable(&mut self) -> Option<(&mut Value, Place)> {
        None
    }

    fn hold(&self) -> Hold {
        Hold::Stand
    }

    fn kind(&self) -> &'static str {
        "server"
    }

    fn bound_to(&self, gates: &Gates, _subject: Digest) -> Option<Digest> {
        Some(gates.entry_identity(&self.entry))
    }

    fn arguments(&self) -> Value {
        shown_launch(&self.entry.launch)
    }

    fn shown(&self) -> String {
        shown_value(&shown_launch(&self.entry.launch))
    }

    fn shown_definition(&self) -> String {
        String::new()
    }

    fn is_current(&self, _context: &Context) -> bool {
        true
    }
}

/// Returns how a server is reached without the values of variables and headers.
pub(crate) fn shown_launch(launch: &Launch) -> Value {
    let names = |pairs: &[(String, Secret)]| {
        Value::from(pairs.iter().map(|(name, _)| Value::from(name.as_str())).collect::<Vec<_>>())
    };
    let mut shown = Object::new();
    match launch {
        Launch::Stdio { command, arguments, working_directory, environment } => {
            shown.insert("command", command.as_str());
            shown.insert("args", arguments.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>());
            if let Some(directory) = working_directory {
                shown.insert("cwd", directory.as_str());
            }
            shown.insert("env", names(environment));
        }
        Launch::Http { url, headers, legacy_sse: _ } => {
            shown.insert("url", url.as_str());
            shown.insert("headers", names(headers));
        }
    }
    Value::Object(shown)
}

impl Payload for Call {
    const GATE: GateName = GateName::Call;

    fn server(&self) -> &ServerName {
        &self.server
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn digest(&self, _gates: &Gates) -> Digest {
        self.params.digest()
    }

    fn document(&self) -> &Value {
        &self.params
    }

    fn subject(&self) -> Result<Segmented, TooLarge> {
        segments::call(self)
    }

    fn editable(&mut self) -> Option<(&mut Value, Place)> {
        None
    }

    fn hold(&self) -> Hold {
        Hold::Retry
    }

    fn kind(&self) -> &'static str {
        match self.kind {
            CallKind::Tool => "tool",
            CallKind::Prompt => "prompt",
            CallKind::Resource => "resource",
            CallKind::Completion => "completion",
        }
    }

    fn bound_to(&self, _gates: &Gates, _subject: Digest) -> Option<Digest> {
        self.definition
    }

    fn arguments(&self) -> Value {
        segments::arguments(self.kind, &self.params)
    }

    fn shown(&self) -> String {
        shown_value(&segments::arguments(self.kind, &self.params))
    }

    fn shown_definition(&self) -> String {
        shown_definition(self.pin, self.definition)
    }

    fn is_current(&self, context: &Context) -> bool {
        context
            .definitions
            .as_ref()
            .is_none_or(|definitions| definitions.current(&self.server, self.kind, &self.name) == self.definition)
    }
}

impl Payload for ServerMessage {
    const GATE: GateName = GateName::Result;

    fn server(&self) -> &ServerName {
        &self.server
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn digest(&self, _gates: &Gates) -> Digest {
        self.document.digest()
    }

    fn document(&self) -> &Value {
        &self.document
    }

    fn subject(&self) -> Result<Segmented, TooLarge> {
        segments::message(self)
    }

    fn editable(&mut self) -> Option<(&mut Value, Place)> {
        let place = segments::message_place(self.kind);
        Some((&mut self.document, place))
    }

    /// What was done cannot be done again to ask about its result. What only tells of it is not worth holding.
    fn hold(&self) -> Hold {
        match self.kind {
            ResultKind::Result | ResultKind::Error => Hold::Wait,
            ResultKind::Progress | ResultKind::Log | ResultKind::Stderr => Hold::Never,
        }
    }

    fn kind(&self) -> &'static str {
        match self.kind {
            ResultKind::Result => "result",
            ResultKind::Error => "error",
            ResultKind::Progress => "progress",
            ResultKind::Log => "log",
            ResultKind::Stderr => "stderr",
        }
    }

    fn bound_to(&self, _gates: &Gates, subject: Digest) -> Option<Digest> {
        Some(subject)
    }

    fn arguments(&self) -> Value {
        self.document.clone()
    }

    fn shown(&self) -> String {
        shown_value(&self.document)
    }

    fn shown_definition(&self) -> String {
        match self.kind {
            ResultKind::Result => "a result",
            ResultKind::Error => "an error",
            ResultKind::Progress => "a progress message",
            ResultKind::Log => "a log message",
            ResultKind::Stderr => "lines of standard error",
        }
        .to_owned()
    }

    fn is_current(&self, _context: &Context) -> bool {
        true
    }
}

impl Payload for ServerRequest {
    const GATE: GateName = GateName::Request;

    fn server(&self) -> &ServerName {
        &self.server
    }

    fn name(&self) -> &str {
        match self.kind {
            RequestKind::Sampling(_) => "sampling",
            RequestKind::ElicitationForm(_) => "elicitation-form",
            RequestKind::ElicitationUrl(_) => "elicitation-url",
            RequestKind::Roots => "roots",
        }
    }

    fn digest(&self, _gates: &Gates) -> Digest {
        self.document.digest()
    }

    fn document(&self) -> &Value {
        &self.document
    }

    fn subject(&self) -> Result<Segmented, TooLarge> {
        segments::request(self)
    }

    fn editable(&mut self) -> Option<(&mut Value, Place)> {
        Some((&mut self.document, Place::Request))
    }

    fn hold(&self) -> Hold {
        Hold::Retry
    }

    fn kind(&self) -> &'static str {
        "request"
    }

    fn arguments(&self) -> Value {
        self.document.clone()
    }

    /// An approval is for the kind of request; a form or a URL is approved for what it says.
    fn bound_to(&self, _gates: &Gates, subject: Digest) -> Option<Digest> {
        match self.kind {
            RequestKind::Sampling(_) | RequestKind::Roots => None,
            RequestKind::ElicitationForm(_) | RequestKind::ElicitationUrl(_) => Some(subject),
        }
    }

    fn shown(&self) -> String {
        shown_value(&self.document)
    }

    fn shown_definition(&self) -> String {
        String::new()
    }

    fn is_current(&self, _context: &Context) -> bool {
        true
    }
}

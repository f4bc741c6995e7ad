//! The values that pass the gates.

use std::sync::Arc;

use portcullis_model::json::Value;
use portcullis_model::{
    Annotations, CallKind, Digest, ItemKind, Occasion, PinState, RequestKind, ResultKind, Secret, ServerEntry,
    ServerName,
};

/// A server entry on its way to being saved, started or connected.
#[derive(Clone, Debug, PartialEq)]
pub struct Launching {
    /// The entry, after interpolation.
    pub entry: Arc<ServerEntry>,
    /// What is about to happen with it.
    pub occasion: Occasion,
}

/// The environment of a stdio server: what is offered before the gate, what is left after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// The entry that is about to start.
    pub entry: Arc<ServerEntry>,
    /// Variables of the gateway's own environment.
    pub variables: Vec<(String, Secret)>,
    /// Names among them that the operator tagged as meant for servers.
    pub tagged: Vec<String>,
}

/// One item that a server lists, as it sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedItem {
    /// The server.
    pub server: ServerName,
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it; empty for instructions.
    pub name: String,
    /// As the server sent it; a string for instructions.
    pub document: Value,
}

/// Something that the client asks of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The server.
    pub server: ServerName,
    /// What is asked for.
    pub kind: CallKind,
    /// The server's own name for it: of a tool or prompt, or the URI of a resource.
    pub name: String,
    /// True where the client used a utility tool of the gateway.
    pub utility: bool,
    /// What the server says of its effects, as published.
    pub annotations: Annotations,
    /// State of the definition.
    pub pin: PinState,
    /// Digest of the published definition.
    pub definition: Option<Digest>,
    /// The parameters of the request, in the server's own names. Policies judge what the kind counts as arguments:
    /// `arguments` of a tool or prompt, the whole of a resource or completion, `_meta` left out.
    pub params: Value,
}

/// Something of a server on its way to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerMessage {
    /// The server.
    pub server: ServerName,
    /// What it is.
    pub kind: ResultKind,
    /// What was called; empty where nothing was.
    pub name: String,
    /// The result, the error object, the parameters of the notification, or a string for lines of standard error.
    pub document: Value,
}

/// Something that a server asks of the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerRequest {
    /// The server.
    pub server: ServerName,
    /// What it asks.
    pub kind: RequestKind,
    /// The parameters of the request.
    pub document: Value,
}

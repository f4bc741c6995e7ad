//! From a published name to the server that has it.

use std::sync::Arc;

use portcullis_model::json::{Object, Value};
use portcullis_model::{Annotations, CallKind, Digest, ItemKind};
use portcullis_registry::{Published, Utility};

use super::Fleet;
use super::server::Server;
use super::snapshot::Snapshot;
use crate::downstream::Entrance;
use crate::jsonrpc::{ErrorObject, code};

/// Where a call goes.
pub(crate) struct Route {
    pub(crate) server: Arc<Server>,
    pub(crate) kind: CallKind,
    /// The server's own name.
    pub(crate) name: String,
    pub(crate) annotations: Annotations,
    pub(crate) definition: Option<Digest>,
    pub(crate) utility: Option<Utility>,
    /// True for a tool that runs as a task only (2025-11-25, `execution.taskSupport`).
    pub(crate) only_as_task: bool,
}

impl Fleet {
    /// Finds where a call of a client goes, and puts the server's own name into its parameters.
    pub(crate) fn route(&self, entrance: &Entrance, kind: CallKind, params: &mut Object) -> Result<Route, ErrorObject> {
        let invalid = |text: &str| ErrorObject::new(code::INVALID_PARAMS, text);
        let snapshot = self.snapshot();
        let catalogue = &snapshot.catalogue;
        // What lies outside the client's view is as if it were not there.
        let admitted = |item: &&Published| entrance.admits(item.server());
        let text = |params: &Object, key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
        match kind {
            CallKind::Tool => {
                let name = text(params, "name").ok_or_else(|| invalid("the name of a tool is missing"))?;
                if let Some(tool) = catalogue.tool(&name).filter(admitted) {
                    params.insert("name", tool.name());
                    return route_to(&snapshot, kind, tool, None);
                }
                let utility = catalogue.utility(&name).filter(|utility| entrance.admits(&utility.server));
                let utility = utility.ok_or_else(|| invalid("there is no tool of this name"))?;
                let server = snapshot.members.get(&utility.server);
                Ok(Route {
                    server: server.cloned().ok_or_else(|| invalid("there is no tool of this name"))?,
                    kind: CallKind::Tool,
                    name: utility.utility.as_str().to_owned(),
                    annotations: Annotations::default(),
                    definition: None,
                    utility: Some(utility.utility),
                    only_as_task: false,
                })
            }
            CallKind::Prompt => {
                let name = text(params, "name").ok_or_else(|| invalid("the name of a prompt is missing"))?;
                let prompt = catalogue.prompt(&name).filter(admitted);
                let prompt = prompt.ok_or_else(|| invalid("there is no prompt of this name"))?;
                params.insert("name", prompt.name());
                route_to(&snapshot, kind, prompt, None)
            }
            CallKind::Resource => {
                let uri = text(params, "uri").ok_or_else(|| invalid("the URI of a resource is missing"))?;
                let not_found = || ErrorObject::new(code::RESOURCE_NOT_FOUND, "there is no resource of this URI");
                if let Some(resource) = catalogue.resource(&uri).filter(admitted) {
                    return route_to(&snapshot, kind, resource, Some(uri));
                }
                // Servers hand out links to resources that they do not list. With one server there is no doubt whose.
                let in_view = snapshot.members.iter().filter(|server| entrance.admits(server.name()));
                let mut serving = in_view.filter(|server| server.declares("resources"));
                match (serving.next(), serving.next()) {
                    (Some(server), None) => self.route_unlisted(server, uri).ok_or_else(not_found),
                    _ => Err(not_found()),
                }
            }
            CallKind::Completion => {
                let reference = params.get_mut("ref").and_then(Value::as_object_mut);
                let reference = reference.ok_or_else(|| invalid("what to complete is missing"))?;
                if let Some(uri) = text(reference, "uri") {
                    let item = catalogue.templates().iter().find(|template| template.exposed() == uri);
                    let item = item.or_else(|| catalogue.resource(&uri)).filter(admitted);
                    let item = item.ok_or_else(|| invalid("there is no resource template of this URI"))?;
                    return route_to(&snapshot, kind, item, Some(uri));
                }
                let name = text(reference, "name").ok_or_else(|| invalid("what to complete is missing"))?;
                let prompt = catalogue.prompt(&name).filter(admitted);
                let prompt = prompt.ok_or_else(|| invalid("there is no prompt of this name"))?;
                reference.insert("name", prompt.name());
                route_to(&snapshot, kind, prompt, None)
            }
        }
    }

    /// Returns the route to a resource that a server does not list; nothing where it may be one that was withheld.
    pub(crate) fn route_unlisted(&self, server: &Arc<Server>, uri: String) -> Option<Route> {
        let snapshot = self.snapshot();
        let withheld = snapshot.catalogue.unpublished().iter().any(|unpublished| {
            unpublished.server == *server.name()
                && match unpublished.kind {
                    ItemKind::Resource => unpublished.name == uri,
                    // What a template can become is a wide guess, so it keeps all unlisted ones of its server away.
                    ItemKind::ResourceTemplate => true,
                    ItemKind::Tool | ItemKind::Prompt | ItemKind::Instructions => false,
                }
        });
        (!withheld).then(|| Route {
            server: Arc::clone(server),
            kind: CallKind::Resource,
            name: uri,
            annotations: Annotations::default(),
            definition: None,
            utility: None,
            only_as_task: false,
        })
    }
}

fn route_to(snapshot: &Snapshot, kind: CallKind, item: &Published, uri: Option<String>) -> Result<Route, ErrorObject> {
    let server = snapshot.members.get(item.server()).cloned();
    let server = server.ok_or_else(|| ErrorObject::new(code::INTERNAL_ERROR, "its server is not known"))?;
    Ok(Route {
        server,
        kind,
        name: uri.unwrap_or_else(|| item.name().to_owned()),
        annotations: if item.kind() == ItemKind::Tool { item.annotations().clone() } else { Annotations::default() },
        definition: Some(item.definition()),
        utility: None,
        only_as_task: item.kind() == ItemKind::Tool && only_as_task(&item.cleared().get().document),
    })
}

fn only_as_task(tool: &Value) -> bool {
    tool.get("execution").and_then(|execution| execution.get("taskSupport")).and_then(Value::as_str) == Some("required")
}

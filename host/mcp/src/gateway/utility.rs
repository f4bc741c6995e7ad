//! The tools of the gateway that reach a server's resources and prompts: through the same gates as any call.

use std::sync::Arc;

use portcullis_gates::Call;
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, PinState, ResultKind, object};
use portcullis_registry::{Published, Utility};

use super::Fleet;
use super::route::Route;
use crate::downstream::{ClientSession, Outlet, Reply};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::Verb;

impl Fleet {
    /// Answers a call of a utility tool.
    pub(crate) async fn use_utility(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
        route: Route,
        utility: Utility,
        params: Object,
        outlet: Option<&Outlet>,
    ) -> Reply {
        let arguments = params.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
        match utility {
            Utility::ListResources | Utility::ListPrompts => {
                self.list_of(session, &route, utility, params, outlet).await
            }
            Utility::ReadResource => {
                let Some(uri) = arguments.get("uri").and_then(Value::as_str) else {
                    return invalid("`uri` is missing");
                };
                let snapshot = self.snapshot();
                let listed = snapshot.catalogue.resource_of(route.server.name(), uri).map(Published::definition);
                if listed.is_none() && self.route_unlisted(&route.server, uri.to_owned()).is_none() {
                    return invalid("this server has no resource of this URI");
                }
                let route = Route { kind: CallKind::Resource, name: uri.to_owned(), definition: listed, ..route };
                let params = object! { "uri" => uri };
                self.pass(session, &route, Verb::Plain, params.into(), None, outlet).await.into_tool(contents)
            }
            Utility::GetPrompt => {
                let Some(name) = arguments.get("name").and_then(Value::as_str) else {
                    return invalid("`name` is missing");
                };
                let snapshot = self.snapshot();
                let catalogue = &snapshot.catalogue;
                let published = catalogue.prompt(name).filter(|prompt| prompt.server() == route.server.name());
                let Some(item) = catalogue.prompt_of(route.server.name(), name).or(published) else {
                    return invalid("this server has no prompt of this name");
                };
                let mut params = object! { "name" => item.name() };
                if let Some(arguments) = arguments.get("arguments").filter(|arguments| !arguments.is_null()) {
                    params.insert("arguments", arguments.clone());
                }
                let definition = Some(item.definition());
                let route = Route { kind: CallKind::Prompt, name: item.name().to_owned(), definition, ..route };
                self.pass(session, &route, Verb::Plain, params.into(), None, outlet).await.into_tool(as_text)
            }
        }
    }

    /// Lists what is published of a server. No server is asked, but the call gate is: it may refuse the tool.
    async fn list_of(
        &self,
        session: &ClientSession,
        route: &Route,
        utility: Utility,
        params: Object,
        outlet: Option<&Outlet>,
    ) -> Reply {
        let context = self.context(session, &route.server, outlet);
        let call = Call {
            server: route.server.name().clone(),
            kind: CallKind::Tool,
            name: route.name.clone(),
            utility: true,
            annotations: route.annotations.clone(),
            pin: PinState::Unpinned,
            definition: None,
            params: params.into(),
        };
        if let Err(refusal) = self.gates().call(&context, call).await {
            return Reply::refused(&refusal, true);
        }
        let snapshot = self.snapshot();
        let catalogue = &snapshot.catalogue;
        let (key, lists): (_, [&[Published]; 2]) = match utility {
            Utility::ListPrompts | Utility::GetPrompt => ("prompts", [catalogue.prompts(), &[]]),
            Utility::ListResources | Utility::ReadResource => {
                ("resources", [catalogue.resources(), catalogue.templates()])
            }
        };
        let mine = lists.into_iter().flatten().filter(|item| item.server() == route.server.name());
        // The server's own names: that is what the tool beside this one takes.
        let items: Vec<Value> = mine.map(|item| item.cleared().get().document.clone()).collect();
        Reply::Own(text_result(&object! { key => items }.into()))
    }
}

fn invalid(text: &str) -> Reply {
    Reply::Error(ErrorObject::new(code::INVALID_PARAMS, text))
}

impl Reply {
    /// Turns the answer of a resource or prompt into a tool's result, around the cleared value.
    fn into_tool(self, shape: fn(&Value) -> Value) -> Self {
        match self {
            Self::Cleared(message) if message.get().kind == ResultKind::Error => {
                let text = message.get().document.get("message").and_then(Value::as_str).unwrap_or_default();
                Self::Own(crate::downstream::tool_error(text))
            }
            Self::Cleared(message) => Self::Own(shape(&message.get().document)),
            other @ (Self::Shared(_) | Self::Own(_) | Self::Error(_) | Self::Dressed(..)) => other,
        }
    }
}

/// Each content of a resource as an embedded resource: text and binaries as they are.
fn contents(result: &Value) -> Value {
    let contents = result.get("contents").and_then(Value::as_array).unwrap_or_default();
    let blocks = contents.iter().map(|content| object! { "type" => "resource", "resource" => content.clone() }.into());
    object! { "content" => blocks.collect::<Vec<Value>>() }.into()
}

/// The messages of a prompt as JSON text.
fn as_text(result: &Value) -> Value {
    let mut kept = Object::new();
    for key in ["description", "messages"] {
        if let Some(value) = result.get(key) {
            kept.insert(key, value.clone());
        }
    }
    text_result(&kept.into())
}

fn text_result(value: &Value) -> Value {
    let block: Value = object! { "type" => "text", "text" => value.to_json() }.into();
    object! { "content" => vec![block] }.into()
}

//! What operators ask of the front door.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_door::{Code, ConsentView, FrontDoor, GrantView};
use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use super::message::error;

/// A browser that shows a code asks again every three seconds; one that does not within this does not show it here.
const BROWSER: Duration = Duration::from_secs(12);

/// The front door, once there is one.
pub(super) type Door = Arc<OnceLock<Arc<FrontDoor>>>;

fn code(request: &Object) -> Result<Code, Object> {
    let code = request.get("code").and_then(Value::as_str).and_then(Code::parse);
    code.ok_or_else(|| error("malformed", "a code has eight letters and digits"))
}

fn opened(door: &Door) -> Result<&Arc<FrontDoor>, Object> {
    door.get().ok_or_else(|| error("unknown", "this gateway has no front door"))
}

/// Waits for the browser that shows a code.
pub(super) async fn expect(door: &Door, request: &Object) -> Object {
    let waiting = async {
        let (door, code) = (opened(door)?, code(request)?);
        match tokio::time::timeout(BROWSER, door.expect(code)).await {
            Ok(Ok(view)) => Ok(object! { "consent" => consent_to_value(&view) }),
            Ok(Err(failed)) => Err(error("unknown", &failed.to_string())),
            Err(_) => Err(error("unknown", "no browser shows this code to this gateway")),
        }
    };
    waiting.await.unwrap_or_else(|refused: Object| refused)
}

/// Answers a code.
pub(super) fn consent(door: &Door, request: &Object, allow: bool) -> Object {
    let answered = || {
        let (door, code) = (opened(door)?, code(request)?);
        door.consent(code, allow).map_err(|failed| error("unknown", &failed.to_string()))?;
        Ok(object! { "done" => if allow { "allowed" } else { "refused" } })
    };
    answered().unwrap_or_else(|refused: Object| refused)
}

/// Lists what was consented to.
pub(super) fn grants(door: &Door) -> Object {
    let grants = door.get().map(|door| door.grants()).unwrap_or_default();
    object! { "consents" => grants.iter().map(grant_to_value).collect::<Vec<_>>() }
}

/// Ends what was consented to.
pub(super) async fn revoke(door: &Door, request: &Object) -> Object {
    let names = request.get("names").and_then(Value::as_array).unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let ended = match door.get() {
        Some(door) => door.revoke(&names).await,
        None => 0,
    };
    object! { "ended" => ended as u64 }
}

/// Returns what a client asks for as a message, and as scripts get it.
pub(crate) fn consent_to_value(view: &ConsentView) -> Value {
    object! {
        "client" => view.client.as_str(),
        "known" => view.known.as_str(),
        "client_id" => view.client_id.as_str(),
        "redirect" => view.redirect.as_str(),
        "resource" => view.resource.as_str(),
        "days" => view.days,
        "source" => view.source.as_str(),
        "warnings" => view.warnings.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>(),
    }
    .into()
}

fn grant_to_value(grant: &GrantView) -> Value {
    let mut object = object! {
        "name" => grant.id.as_str(),
        "client_id" => grant.client_id.as_str(),
        "client" => grant.client.as_str(),
        "made" => grant.made,
        "until" => grant.until,
    };
    if let Some(server) = &grant.server {
        object.insert("server", server.as_str());
    }
    object.into()
}

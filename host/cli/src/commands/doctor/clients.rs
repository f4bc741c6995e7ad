//! The clients on this machine: which of them go through the gateway, and what goes past it.

use portcullis_config::{ClientText, Config};
use portcullis_model::json::Value;

use super::Examined;
use crate::commands::import::{here, is_ourselves};
use crate::failure::one_line;
use crate::files::FileText;

/// Looks at the config of every client that is there.
pub(super) fn examine(config: &Config, examined: &mut Examined) {
    let Ok(places) = here() else {
        return;
    };
    for place in places.all() {
        let Ok(FileText { bytes: Some(bytes), .. }) = FileText::read(&place.path) else {
            continue;
        };
        let (client, path) = (place.client.as_str(), place.path.display());
        let text = String::from_utf8(bytes).ok().and_then(|text| ClientText::parse(place.client.format(), text).ok());
        let Some(text) = text else {
            examined.odd("clients", format!("{client}: {path} can't be read"), "the client may not read it either");
            continue;
        };
        let entries = place.client.entries(&text.to_value());
        let is_ours = |entry: &Value| is_ourselves(entry);
        let (ours, past): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .filter_map(|found| Some((found.name, found.entry.ok()?)))
            .partition(|(_, entry)| is_ours(entry));
        if past.is_empty() && ours.is_empty() {
            continue;
        }
        if past.is_empty() {
            examined.good("clients", format!("{client} goes through the gateway ({path})"));
            continue;
        }
        let names: Vec<String> = past.into_iter().map(|(name, _)| one_line(&name)).collect();
        let is_known = names.iter().all(|name| config.server(name).is_some());
        let hint = if is_known {
            format!("`portcullis export --client {client}` points it at the gateway")
        } else {
            format!("`portcullis import --from {client}`, then `portcullis export --client {client}`")
        };
        let message = format!("{client} reaches {} past the gates ({path})", names.join(", "));
        examined.odd("clients", message, hint);
    }
}

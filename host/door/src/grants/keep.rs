//! Families that survive a restart: digests in a file.

use std::path::Path;

use portcullis_model::json::Value;
use portcullis_model::{Digest, ServerName, object};

use super::Grant;
use crate::files::{FileError, StateFile};
use crate::named::read_digest;

/// Where families are kept, if they are.
#[derive(Debug)]
pub(crate) struct Kept {
    file: Option<StateFile>,
    issuer: String,
    /// Held while the file is written, so that what is newer is written later.
    writing: tokio::sync::Mutex<()>,
}

impl Kept {
    /// Names the file of an issuer. Gateways of one home that clients reach under different addresses have one each.
    pub(crate) fn new(folder: &Path, issuer: &str, persist: bool) -> Self {
        let name = format!("grants-{}.json", Digest::of(issuer.as_bytes()).short());
        let file = persist.then(|| StateFile::new(folder, &name));
        Self { file, issuer: issuer.to_owned(), writing: tokio::sync::Mutex::default() }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Reads what is kept.
    pub(crate) fn read(&self) -> Result<Vec<Grant>, FileError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let Some(value) = file.read()? else { return Ok(Vec::new()) };
        let grants = value.get("grants").and_then(Value::as_array).ok_or_else(|| file.malformed())?;
        grants.iter().map(|grant| from_value(grant).ok_or_else(|| file.malformed())).collect()
    }

    /// Writes what is there when its turn comes.
    pub(super) async fn write(&self, snapshot: impl Fn() -> Value) {
        let Some(file) = self.file.clone() else { return };
        let _one_at_a_time = self.writing.lock().await;
        let value = snapshot();
        let written = tokio::task::spawn_blocking(move || file.write(&value)).await;
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "the tokens of clients are not kept: they end with this process"
            ),
            Err(_) => tracing::error!("writing the tokens of clients broke"),
        }
    }
}

pub(super) fn to_document<'a>(grants: impl Iterator<Item = &'a Grant>, issuer: &str) -> Value {
    object! { "issuer" => issuer, "grants" => grants.map(to_value).collect::<Vec<_>>() }.into()
}

fn to_value(grant: &Grant) -> Value {
    let mut object = object! {
        "id" => format!("{:032x}", grant.id),
        "client" => grant.client.as_str(),
        "name" => grant.name.as_str(),
        "made" => grant.made,
        "until" => grant.until,
        "refresh" => grant.refresh.to_string(),
        "refresh_until" => grant.refresh_until,
        "access" => grant.access.to_string(),
        "access_until" => grant.access_until,
    };
    if let Some(server) = &grant.route {
        object.insert("server", server.as_str());
    }
    object.into()
}

fn from_value(value: &Value) -> Option<Grant> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let route = match value.get("server") {
        Some(server) => Some(ServerName::parse(server.as_str()?).ok()?),
        None => None,
    };
    Some(Grant {
        id: u128::from_str_radix(text("id")?, 16).ok()?,
        client: text("client")?.to_owned(),
        name: text("name")?.to_owned(),
        route,
        made: number("made")?,
        until: number("until")?,
        refresh: read_digest(text("refresh")?)?,
        refresh_until: number("refresh_until")?,
        access: read_digest(text("access")?)?,
        access_until: number("access_until")?,
    })
}

//! Definitions that were approved.

use std::time::SystemTime;

use portcullis_model::json::{Value, parse_str};
use portcullis_model::{Digest, FieldDigest, ItemKind, Pinned, object};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::{SqliteStore, StoreError, decode, encode};

/// What a pin is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PinKey {
    /// The name that the config gives to the server.
    pub server: String,
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// The server's own name for it; empty for instructions.
    pub name: String,
}

/// An approved definition, and when it was approved.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// What it is for.
    pub key: PinKey,
    /// What was approved.
    pub pinned: Pinned,
    /// When, to the microsecond.
    pub approved_at: SystemTime,
}

/// Keeps pins. Each call takes tens of microseconds, more where another process writes: call it off the threads that
/// carry traffic.
pub trait Pins: Send + Sync {
    /// Returns a pin.
    fn pin(&self, key: &PinKey) -> Result<Option<Pin>, StoreError>;

    /// Returns all pins of a server, by kind and name.
    fn pins(&self, server: &str) -> Result<Vec<Pin>, StoreError>;

    /// Sets pins, in the place of earlier ones of the same key: all of them, or none.
    fn set_pins(&self, pins: &[Pin]) -> Result<(), StoreError>;

    /// Removes a pin. Returns true where there was one.
    fn remove_pin(&self, key: &PinKey) -> Result<bool, StoreError>;
}

const SELECT: &str = "SELECT server, kind, name, digest, fields, document, approved_at FROM pins";

impl Pins for SqliteStore {
    fn pin(&self, key: &PinKey) -> Result<Option<Pin>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!("{SELECT} WHERE server = ?1 AND kind = ?2 AND name = ?3"))?
                .query_row(params![key.server, key.kind.as_str(), key.name], |row| Ok(pin(row)))
                .optional()?
                .transpose()
        })
    }

    fn pins(&self, server: &str) -> Result<Vec<Pin>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached(&format!("{SELECT} WHERE server = ?1 ORDER BY kind, name"))?;
            let mut rows = statement.query(params![server])?;
            let mut pins = Vec::new();
            while let Some(row) = rows.next()? {
                pins.push(pin(row)?);
            }
            Ok(pins)
        })
    }

    fn set_pins(&self, pins: &[Pin]) -> Result<(), StoreError> {
        self.transact(|connection| {
            for pin in pins {
                connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO pins
                         (server, kind, name, digest, fields, document, approved_at)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    )?
                    .execute(params![
                        pin.key.server,
                        pin.key.kind.as_str(),
                        pin.key.name,
                        pin.pinned.digest.as_bytes(),
                        fields_to_json(&pin.pinned.fields),
                        pin.pinned.document.to_json(),
                        encode::microseconds(pin.approved_at),
                    ])?;
            }
            Ok(())
        })
    }

    fn remove_pin(&self, key: &PinKey) -> Result<bool, StoreError> {
        self.transact(|connection| {
            let removed = connection
                .prepare_cached("DELETE FROM pins WHERE server = ?1 AND kind = ?2 AND name = ?3")?
                .execute(params![key.server, key.kind.as_str(), key.name])?;
            Ok(removed > 0)
        })
    }
}

fn pin(row: &Row<'_>) -> Result<Pin, StoreError> {
    let (server, kind, name): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let damaged = || StoreError::Row { table: "pins", row: format!("{server}/{kind}/{name}") };
    let fields: String = row.get(4)?;
    let document: String = row.get(5)?;
    let pinned = Pinned {
        digest: Digest::from_bytes(row.get(3)?),
        fields: fields_from_json(&fields).ok_or_else(damaged)?,
        document: parse_str(&document).map_err(|_| damaged())?,
    };
    let kind = kind_of(&kind).ok_or_else(damaged)?;
    Ok(Pin { key: PinKey { server, kind, name }, pinned, approved_at: decode::time(row.get(6)?) })
}

fn kind_of(text: &str) -> Option<ItemKind> {
    [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource, ItemKind::ResourceTemplate, ItemKind::Instructions]
        .into_iter()
        .find(|kind| kind.as_str() == text)
}

/// One object, pointer to digest: pointers are unique within a definition.
fn fields_to_json(fields: &[FieldDigest]) -> String {
    let mut object = object! {};
    for field in fields {
        object.insert(field.pointer.as_str(), field.digest.to_string());
    }
    Value::from(object).to_json()
}

fn fields_from_json(text: &str) -> Option<Vec<FieldDigest>> {
    let value = parse_str(text).ok()?;
    let field = |(pointer, digest): (&str, &Value)| {
        Some(FieldDigest { pointer: pointer.to_owned(), digest: digest_of(digest.as_str()?)? })
    };
    value.as_object()?.iter().map(field).collect()
}

fn digest_of(hex: &str) -> Option<Digest> {
    let mut bytes = [0_u8; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(Digest::from_bytes(bytes))
}

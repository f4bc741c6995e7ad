use portcullis_model::json::Value;
use portcullis_model::{self as model, ItemKind};

use super::LEFT_OUT;
use crate::v0_1::generated::exports::portcullis::policy::listing_gate;
use crate::v0_1::generated::portcullis::policy::types;

/// Texts of one item that the host holds in another form.
struct Texts {
    document: String,
    digest: String,
    fields: Vec<String>,
    pinned: Option<PinnedTexts>,
    drift: Vec<(Option<String>, Option<String>)>,
}

struct PinnedTexts {
    document: String,
    digest: String,
    fields: Vec<String>,
}

/// Lists of one item that the guest's view borrows.
struct Lists<'a> {
    segments: Vec<types::Segment<'a>>,
    fields: Vec<listing_gate::FieldDigest<'a>>,
    pinned_fields: Vec<listing_gate::FieldDigest<'a>>,
    drift: Vec<listing_gate::DriftedField<'a>>,
}

/// A batch of items with the texts that the guest's view borrows.
pub(crate) struct Batch<'a> {
    listed: &'a model::Batch,
    payload: bool,
    texts: Vec<Texts>,
    catalogue: Vec<String>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(batch: &'a model::Batch, payload: bool) -> Self {
        Self {
            listed: batch,
            payload,
            texts: batch.items.iter().map(|item| texts(item, payload)).collect(),
            catalogue: batch.catalogue.iter().map(|entry| entry.digest.to_string()).collect(),
        }
    }

    /// Calls `body` with the guest's view.
    pub(crate) fn with<R>(&self, body: impl FnOnce(listing_gate::Batch<'_>) -> R) -> R {
        let items = || self.listed.items.iter().zip(&self.texts);
        let lists: Vec<_> = items().map(|(item, texts)| lists(item, texts, self.payload)).collect();
        let items: Vec<_> = items().zip(&lists).map(|((item, texts), lists)| view(item, texts, lists)).collect();
        let catalogue: Vec<_> = self
            .listed
            .catalogue
            .iter()
            .zip(&self.catalogue)
            .map(|(entry, digest)| listing_gate::CatalogueEntry {
                server: entry.server.as_str(),
                kind: kind(entry.kind),
                name: &entry.name,
                digest,
            })
            .collect();
        body(listing_gate::Batch { server: self.listed.server.as_str(), items: &items, catalogue: &catalogue })
    }
}

fn kind(kind: ItemKind) -> listing_gate::Kind {
    match kind {
        ItemKind::Tool => listing_gate::Kind::Tool,
        ItemKind::Prompt => listing_gate::Kind::Prompt,
        ItemKind::Resource => listing_gate::Kind::Resource,
        ItemKind::ResourceTemplate => listing_gate::Kind::ResourceTemplate,
        ItemKind::Instructions => listing_gate::Kind::Instructions,
    }
}

fn texts(item: &model::Item, payload: bool) -> Texts {
    let document = |value: &Value| if payload { value.to_json() } else { LEFT_OUT.to_owned() };
    let digests = |fields: &[model::FieldDigest]| fields.iter().map(|field| field.digest.to_string()).collect();
    Texts {
        document: document(&item.document),
        digest: item.digest.to_string(),
        fields: digests(&item.fields),
        pinned: item.pinned.as_ref().map(|pinned| PinnedTexts {
            document: document(&pinned.document),
            digest: pinned.digest.to_string(),
            fields: digests(&pinned.fields),
        }),
        drift: item
            .drift
            .iter()
            .map(|field| (field.before.as_ref().map(document), field.after.as_ref().map(document)))
            .collect(),
    }
}

fn fields<'a>(fields: &'a [model::FieldDigest], digests: &'a [String]) -> Vec<listing_gate::FieldDigest<'a>> {
    fields
        .iter()
        .zip(digests)
        .map(|(field, digest)| listing_gate::FieldDigest { pointer: &field.pointer, digest })
        .collect()
}

fn lists<'a>(item: &'a model::Item, texts: &'a Texts, payload: bool) -> Lists<'a> {
    Lists {
        segments: if payload { super::segments(&item.segments) } else { Vec::new() },
        fields: fields(&item.fields, &texts.fields),
        pinned_fields: item
            .pinned
            .as_ref()
            .zip(texts.pinned.as_ref())
            .map(|(pinned, texts)| fields(&pinned.fields, &texts.fields))
            .unwrap_or_default(),
        drift: item
            .drift
            .iter()
            .zip(&texts.drift)
            .map(|(field, (before, after))| listing_gate::DriftedField {
                pointer: &field.pointer,
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect(),
    }
}

fn view<'a>(item: &'a model::Item, texts: &'a Texts, lists: &'a Lists<'a>) -> listing_gate::Item<'a> {
    listing_gate::Item {
        kind: kind(item.kind),
        name: &item.name,
        document: &texts.document,
        segments: &lists.segments,
        annotations: super::annotations(&item.annotations),
        digest: &texts.digest,
        fields: &lists.fields,
        pin: super::pin(item.pin),
        pinned: texts.pinned.as_ref().map(|pinned| listing_gate::Pinned {
            digest: &pinned.digest,
            fields: &lists.pinned_fields,
            document: &pinned.document,
        }),
        drift: &lists.drift,
    }
}

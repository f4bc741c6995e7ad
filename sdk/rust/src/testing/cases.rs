//! The fixture format: a file of cases, and the subject that a case states.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::expectation::Expectation;
use super::facts::Stated;
use super::subjects;
use crate::environment_gate::{self, Platform};
use crate::listing_gate::{Batch, CatalogueEntry, DriftedField, Kind as ListingKind};
use crate::{PinState, call_gate, config_gate, request_gate, result_gate};

/// A file of fixtures. Settings, packs and facts hold for every case that states none of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    /// `config`, `environment`, `listing`, `call`, `result` or `request`.
    pub(super) gate: GateName,
    #[serde(default)]
    pub(super) settings: Value,
    /// Data by pack name, in the place of the packs beside the fixtures.
    pub(super) packs: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    pub(super) facts: Stated,
    pub(super) cases: Vec<Case>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum GateName {
    Config,
    Environment,
    Listing,
    Call,
    Result,
    Request,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) settings: Option<Value>,
    pub(super) packs: Option<BTreeMap<String, Value>>,
    pub(super) facts: Option<Stated>,
    pub(super) subject: Value,
    pub(super) expect: Expectations,
}

/// What is expected: of one verdict, or of each item of a batch.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Expectations {
    Each(Vec<Expectation>),
    One(Box<Expectation>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EntrySubject {
    #[serde(default = "server")]
    name: String,
    entry: Value,
    #[serde(default)]
    origin: String,
    #[serde(default)]
    occasion: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EnvironmentSubject {
    #[serde(default)]
    entry: Value,
    #[serde(default)]
    platform: String,
    offered: Vec<String>,
    #[serde(default)]
    tagged: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CallSubject {
    #[serde(default = "server")]
    server: String,
    #[serde(default)]
    kind: String,
    name: String,
    #[serde(default)]
    utility: bool,
    #[serde(default)]
    annotations: Value,
    #[serde(default)]
    pin: String,
    #[serde(default)]
    definition: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ResultSubject {
    #[serde(default = "server")]
    server: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    document: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RequestSubject {
    #[serde(default = "server")]
    server: String,
    method: String,
    #[serde(default)]
    params: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BatchSubject {
    #[serde(default = "server")]
    server: String,
    items: Vec<Listed>,
    #[serde(default)]
    catalogue: Vec<Published>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Listed {
    #[serde(default)]
    kind: String,
    document: Value,
    #[serde(default)]
    pin: String,
    #[serde(default)]
    digest: String,
    #[serde(default)]
    drift: Vec<Drift>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drift {
    pointer: String,
    before: Option<Value>,
    after: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    server: String,
    #[serde(default)]
    kind: String,
    name: String,
    #[serde(default)]
    digest: String,
}

fn server() -> String {
    "server".to_owned()
}

/// A value by its name in a fixture; the empty name is the first.
fn named<Named: Copy>(what: &str, name: &str, names: &[(&str, Named)]) -> Result<Named, String> {
    let wanted = names.iter().find(|(known, _)| *known == name || name.is_empty());
    wanted.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(known, _)| *known).collect();
        format!("{what} `{name}` is unknown; known are {}", known.join(", "))
    })
}

fn read<Stated: for<'de> Deserialize<'de>>(subject: &Value) -> Result<Stated, String> {
    serde_json::from_value(subject.clone()).map_err(|error| format!("subject: {error}"))
}

fn pin(name: &str) -> Result<PinState, String> {
    named(
        "pin",
        name,
        &[("unpinned", PinState::Unpinned), ("approved", PinState::Approved), ("drifted", PinState::Drifted)],
    )
}

pub(super) fn entry(subject: &Value) -> Result<config_gate::Entry, String> {
    use config_gate::{Occasion, Origin};
    let stated: EntrySubject = read(subject)?;
    let origin = named(
        "origin",
        &stated.origin,
        &[
            ("config-file", Origin::ConfigFile),
            ("client-config", Origin::ClientConfig),
            ("project-file", Origin::ProjectFile),
            ("catalog", Origin::Catalog),
            ("command-line", Origin::CommandLine),
        ],
    )?;
    let occasion = named(
        "occasion",
        &stated.occasion,
        &[
            ("start", Occasion::Start),
            ("save", Occasion::Save),
            ("import", Occasion::Import),
            ("install", Occasion::Install),
            ("probe", Occasion::Probe),
            ("connect", Occasion::Connect),
            ("rejudge", Occasion::Rejudge),
        ],
    )?;
    Ok(config_gate::Entry { origin, occasion, ..subjects::entry(&stated.name, &stated.entry) })
}

pub(super) fn environment(subject: &Value) -> Result<environment_gate::Subject, String> {
    let stated: EnvironmentSubject = read(subject)?;
    let platform = named(
        "platform",
        &stated.platform,
        &[("linux", Platform::Linux), ("macos", Platform::Macos), ("windows", Platform::Windows)],
    )?;
    let offered: Vec<&str> = stated.offered.iter().map(String::as_str).collect();
    let tagged: Vec<&str> = stated.tagged.iter().map(String::as_str).collect();
    Ok(subjects::environment(subjects::entry("server", &stated.entry), platform, &offered, &tagged))
}

fn listing_kind(name: &str) -> Result<ListingKind, String> {
    named(
        "kind",
        name,
        &[
            ("tool", ListingKind::Tool),
            ("prompt", ListingKind::Prompt),
            ("resource", ListingKind::Resource),
            ("resource-template", ListingKind::ResourceTemplate),
            ("instructions", ListingKind::Instructions),
        ],
    )
}

pub(super) fn batch(subject: &Value) -> Result<Batch, String> {
    let stated: BatchSubject = read(subject)?;
    let mut batch = subjects::batch(&stated.server, Vec::new());
    for listed in stated.items {
        let mut item = subjects::item(listing_kind(&listed.kind)?, &listed.document);
        item.pin = pin(&listed.pin)?;
        item.digest = listed.digest;
        item.drift = listed.drift.into_iter().map(drift).collect();
        batch.items.push(item);
    }
    for published in stated.catalogue {
        let kind = listing_kind(&published.kind)?;
        let Published { server, name, digest, kind: _ } = published;
        batch.catalogue.push(CatalogueEntry { server, kind, name, digest });
    }
    Ok(batch)
}

fn drift(drift: Drift) -> DriftedField {
    let text = |value: Option<Value>| value.map(|value| value.to_string());
    DriftedField { pointer: drift.pointer, before: text(drift.before), after: text(drift.after) }
}

pub(super) fn call(subject: &Value) -> Result<call_gate::Call, String> {
    use call_gate::Kind;
    let stated: CallSubject = read(subject)?;
    let kinds = [
        ("tool", Kind::Tool),
        ("prompt", Kind::Prompt),
        ("resource", Kind::Resource),
        ("completion", Kind::Completion),
    ];
    let arguments = if stated.arguments.is_null() { serde_json::json!({}) } else { stated.arguments };
    Ok(call_gate::Call {
        server: stated.server,
        kind: named("kind", &stated.kind, &kinds)?,
        utility: stated.utility,
        annotations: subjects::annotations(&stated.annotations),
        pin: pin(&stated.pin)?,
        definition: stated.definition,
        ..subjects::call(&stated.name, &arguments)
    })
}

pub(super) fn result(subject: &Value) -> Result<result_gate::Subject, String> {
    use result_gate::Kind;
    let stated: ResultSubject = read(subject)?;
    let kinds = [
        ("result", Kind::Result),
        ("error", Kind::Error),
        ("progress", Kind::Progress),
        ("log", Kind::Log),
        ("stderr", Kind::Stderr),
    ];
    let kind = named("kind", &stated.kind, &kinds)?;
    Ok(result_gate::Subject {
        server: stated.server,
        name: stated.name,
        ..subjects::result_document(kind, &stated.document)
    })
}

pub(super) fn request(subject: &Value) -> Result<request_gate::Request, String> {
    let stated: RequestSubject = read(subject)?;
    Ok(request_gate::Request { server: stated.server, ..subjects::request(&stated.method, &stated.params) })
}

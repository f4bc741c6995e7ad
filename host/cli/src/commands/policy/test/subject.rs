//! Subjects as a fixture states them, cut into segments as the gateway cuts them.

use std::sync::Arc;

use portcullis_gates::trial::Trial;
use portcullis_gates::{Call, Environment, Launching, ListedItem, ServerMessage, ServerRequest, annotations};
use portcullis_model::json::{Object, Value};
use portcullis_model::{
    CallKind, CatalogueEntry, Digest, DriftedField, FormField, GateName, ItemKind, Launch, Occasion, Origin, PinState,
    Platform, RequestKind, ResultKind, Sampling, Secret, ServerEntry, ServerName, Subject, object,
};

use super::fields::{Fields, FixtureError};

const PINS: [(&str, PinState); 3] =
    [("unpinned", PinState::Unpinned), ("approved", PinState::Approved), ("drifted", PinState::Drifted)];

const ITEMS: [(&str, ItemKind); 5] = [
    ("tool", ItemKind::Tool),
    ("prompt", ItemKind::Prompt),
    ("resource", ItemKind::Resource),
    ("resource-template", ItemKind::ResourceTemplate),
    ("instructions", ItemKind::Instructions),
];

/// Reads the subject of a case.
pub(super) fn read(place: &str, gate: GateName, stated: &Value) -> Result<Trial, FixtureError> {
    let place = format!("{place}, subject");
    let mut fields = Fields::of(&place, stated)?;
    let trial = match gate {
        GateName::Config => launching(&place, &mut fields).map(|payload| Trial::of_launching(&payload)),
        GateName::Environment => environment(&place, &mut fields),
        GateName::Listing => return listing(&place, fields),
        GateName::Call => call(&place, &mut fields).map(|payload| Trial::of_call(&payload)),
        GateName::Result => message(&place, &mut fields).map(|payload| Trial::of_message(&payload)),
        GateName::Request => request(&place, &mut fields).map(|payload| Trial::of_request(&payload)),
    }?;
    fields.end()?;
    trial.map_err(|error| FixtureError::new(&place, error.to_string()))
}

fn server(place: &str, fields: &mut Fields) -> Result<ServerName, FixtureError> {
    let name = fields.text("server")?.unwrap_or_else(|| "server".to_owned());
    ServerName::parse(&name).map_err(|error| FixtureError::new(place, format!("the name of the server {error}")))
}

fn launching(place: &str, fields: &mut Fields) -> Result<Launching, FixtureError> {
    let origins = [
        ("config-file", Origin::ConfigFile),
        ("client-config", Origin::ClientConfig),
        ("project-file", Origin::ProjectFile),
        ("catalog", Origin::Catalog),
        ("command-line", Origin::CommandLine),
    ];
    let occasions = [
        ("start", Occasion::Start),
        ("save", Occasion::Save),
        ("import", Occasion::Import),
        ("install", Occasion::Install),
        ("probe", Occasion::Probe),
        ("connect", Occasion::Connect),
        ("rejudge", Occasion::Rejudge),
    ];
    let name = fields.text("name")?.unwrap_or_else(|| "server".to_owned());
    let document = fields.value("entry").unwrap_or(Value::Object(Object::new()));
    let origin = fields.one_of("origin", &origins)?.unwrap_or(Origin::ConfigFile);
    let occasion = fields.one_of("occasion", &occasions)?.unwrap_or(Occasion::Start);
    Ok(Launching { entry: entry(place, &name, document, origin)?, occasion })
}

/// An entry as it is written. The config would refuse some of these, and a policy may be asked about them all the same.
fn entry(place: &str, name: &str, document: Value, origin: Origin) -> Result<Arc<ServerEntry>, FixtureError> {
    let text = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
    let pairs = |key: &str| {
        let members = document.get(key).and_then(Value::as_object).into_iter().flat_map(Object::iter);
        let value = |value: &Value| Secret::new(value.as_str().map_or_else(|| value.to_json(), str::to_owned));
        members.map(|(key, member)| (key.to_owned(), value(member))).collect::<Vec<_>>()
    };
    let arguments = document.get("args").and_then(Value::as_array).unwrap_or_default();
    let launch = match text("url") {
        Some(url) => Launch::Http { url, headers: pairs("headers"), legacy_sse: false },
        None => Launch::Stdio {
            command: text("command").unwrap_or_default(),
            arguments: arguments.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            working_directory: text("cwd"),
            environment: pairs("env"),
        },
    };
    let name =
        ServerName::parse(name).map_err(|error| FixtureError::new(place, format!("the name of the server {error}")))?;
    Ok(Arc::new(ServerEntry { name, launch, origin, document }))
}

type Tried = Result<Trial, portcullis_gates::trial::TooLarge>;

fn environment(place: &str, fields: &mut Fields) -> Result<Tried, FixtureError> {
    let platforms = [("linux", Platform::Linux), ("macos", Platform::MacOs), ("windows", Platform::Windows)];
    let document = fields.value("entry").unwrap_or(Value::Null);
    let platform = fields.one_of("platform", &platforms)?.unwrap_or(Platform::Linux);
    let offered = fields.texts("offered")?.unwrap_or_default();
    let environment = Environment {
        entry: entry(place, "server", document, Origin::ConfigFile)?,
        variables: offered.into_iter().map(|name| (name, Secret::new(""))).collect(),
        tagged: fields.texts("tagged")?.unwrap_or_default(),
    };
    Ok(Trial::of_environment(&environment).map(|mut trial| {
        if let Subject::Environment(subject) = trial.subject_mut() {
            subject.platform = platform;
        }
        trial
    }))
}

fn listing(place: &str, mut fields: Fields) -> Result<Trial, FixtureError> {
    let server = server(place, &mut fields)?;
    let (mut listed, mut digests) = (Vec::new(), Vec::new());
    for stated in fields.list("items")?.unwrap_or_default() {
        let mut item = Fields::of(&format!("{place}.items"), &stated)?;
        let kind = item.one_of("kind", &ITEMS)?.unwrap_or(ItemKind::Tool);
        let document = item.value("document").unwrap_or(Value::Null);
        let pin = item.one_of("pin", &PINS)?.unwrap_or(PinState::Unpinned);
        digests.push(item.text("digest")?.map(|text| digest(&text)));
        let drift = drift(place, item.list("drift")?.unwrap_or_default())?;
        item.end()?;
        let name = name_of(kind, &document);
        listed.push((ListedItem { server: server.clone(), kind, name, document }, pin, drift));
    }
    let mut catalogue = Vec::new();
    for stated in fields.list("catalogue")?.unwrap_or_default() {
        let mut published = Fields::of(&format!("{place}.catalogue"), &stated)?;
        let server = published.required("server")?;
        catalogue.push(CatalogueEntry {
            server: ServerName::parse(&server)
                .map_err(|error| FixtureError::new(place, format!("the name of a server {error}")))?,
            kind: published.one_of("kind", &ITEMS)?.unwrap_or(ItemKind::Tool),
            name: published.required("name")?,
            digest: digest(&published.text("digest")?.unwrap_or_default()),
        });
        published.end()?;
    }
    fields.end()?;
    let mut trial =
        Trial::of_listing(server, listed, catalogue).map_err(|error| FixtureError::new(place, error.to_string()))?;
    if let Subject::Listing(batch) = trial.subject_mut() {
        for (item, digest) in batch.items.iter_mut().zip(digests) {
            item.digest = digest.unwrap_or(item.digest);
        }
    }
    Ok(trial)
}

/// A digest as a fixture names it: only whether two are equal matters.
fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn name_of(kind: ItemKind, document: &Value) -> String {
    let member = match kind {
        ItemKind::Tool | ItemKind::Prompt => "name",
        ItemKind::Resource => "uri",
        ItemKind::ResourceTemplate => "uriTemplate",
        ItemKind::Instructions => return String::new(),
    };
    document.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn drift(place: &str, stated: Vec<Value>) -> Result<Vec<DriftedField>, FixtureError> {
    let mut fields = Vec::with_capacity(stated.len());
    for stated in stated {
        let mut field = Fields::of(&format!("{place}.drift"), &stated)?;
        let pointer = field.required("pointer")?;
        fields.push(DriftedField { pointer, before: field.value("before"), after: field.value("after") });
        field.end()?;
    }
    Ok(fields)
}

fn call(place: &str, fields: &mut Fields) -> Result<Call, FixtureError> {
    let kinds = [
        ("tool", CallKind::Tool),
        ("prompt", CallKind::Prompt),
        ("resource", CallKind::Resource),
        ("completion", CallKind::Completion),
    ];
    let kind = fields.one_of("kind", &kinds)?.unwrap_or(CallKind::Tool);
    let hints = fields.value("annotations").unwrap_or(Value::Null);
    let arguments = fields.value("arguments").filter(|arguments| !arguments.is_null());
    let arguments = arguments.unwrap_or(Value::Object(Object::new()));
    let params = match kind {
        CallKind::Tool | CallKind::Prompt => object! { "arguments" => arguments }.into(),
        CallKind::Resource | CallKind::Completion => arguments,
    };
    Ok(Call {
        server: server(place, fields)?,
        kind,
        name: fields.required("name")?,
        utility: fields.flag("utility")?,
        annotations: annotations(&object! { "annotations" => hints }.into()),
        pin: fields.one_of("pin", &PINS)?.unwrap_or(PinState::Unpinned),
        definition: fields.text("definition")?.filter(|text| !text.is_empty()).map(|text| digest(&text)),
        params,
    })
}

fn message(place: &str, fields: &mut Fields) -> Result<ServerMessage, FixtureError> {
    let kinds = [
        ("result", ResultKind::Result),
        ("error", ResultKind::Error),
        ("progress", ResultKind::Progress),
        ("log", ResultKind::Log),
        ("stderr", ResultKind::Stderr),
    ];
    Ok(ServerMessage {
        server: server(place, fields)?,
        kind: fields.one_of("kind", &kinds)?.unwrap_or(ResultKind::Result),
        name: fields.text("name")?.unwrap_or_default(),
        document: fields.value("document").unwrap_or(Value::Null),
    })
}

fn request(place: &str, fields: &mut Fields) -> Result<ServerRequest, FixtureError> {
    let server = server(place, fields)?;
    let method = fields.required("method")?;
    let document = fields.value("params").unwrap_or(Value::Null);
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = match method.as_str() {
        "sampling/createMessage" => {
            let hints = document.pointer("/modelPreferences/hints").and_then(Value::as_array).unwrap_or_default();
            RequestKind::Sampling(Sampling {
                max_tokens: document.get("maxTokens").and_then(Value::as_u64),
                models: hints.iter().map(|hint| text(hint, "name")).collect(),
                tools: document.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()),
            })
        }
        "elicitation/create" if text(&document, "mode") == "url" => RequestKind::ElicitationUrl(text(&document, "url")),
        "elicitation/create" => RequestKind::ElicitationForm(form(&document, text)),
        "roots/list" => RequestKind::Roots,
        other => {
            let known = "sampling/createMessage, elicitation/create, roots/list";
            return Err(FixtureError::new(place, format!("method `{other}` is unknown; known are {known}")));
        }
    };
    Ok(ServerRequest { server, kind, document })
}

fn form(document: &Value, text: fn(&Value, &str) -> String) -> Vec<FormField> {
    let required = document.pointer("/requestedSchema/required").and_then(Value::as_array).unwrap_or_default();
    let properties = document.pointer("/requestedSchema/properties").and_then(Value::as_object);
    let fields = properties.into_iter().flat_map(Object::iter);
    fields
        .map(|(name, schema)| FormField {
            name: name.to_owned(),
            title: text(schema, "title"),
            description: text(schema, "description"),
            kind: text(schema, "type"),
            format: text(schema, "format"),
            required: required.iter().any(|one| one.as_str() == Some(name)),
        })
        .collect()
}

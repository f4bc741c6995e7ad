//! Facts as a fixture states them. What is left out is that of a quiet session: a server named `server`, no tier, an operator at
//! hand, nothing counted.

use portcullis_model::json::Value;
use portcullis_model::{
    ApproverClass, ClientFacts, Echo, Encoding, Era, Facts, LabelFact, MeterReading, Principal, ServerName, SessionId,
    Span, Trust,
};

use super::fields::{Fields, FixtureError};

/// Reads facts.
pub(super) fn read(place: &str, stated: &Value) -> Result<Facts, FixtureError> {
    let place = format!("{place}, facts");
    let mut fields = Fields::of(&place, stated)?;
    let server = fields.text("server")?.unwrap_or_else(|| "server".to_owned());
    let trust = [("untrusted", Some(Trust::Untrusted)), ("full", Some(Trust::Full)), ("unknown", None)];
    let approver =
        [("client", Some(ApproverClass::Client)), ("operator", Some(ApproverClass::Operator)), ("nobody", None)];
    let era = [("initialize", Era::Initialize), ("stateless", Era::Stateless)];
    let named = |error| FixtureError::new(&place, format!("a name {error}"));
    let facts = Facts {
        session: SessionId::parse("session").map_err(named)?,
        principal: Principal::parse("principal").map_err(named)?,
        client: ClientFacts {
            name: fields.text("client")?.unwrap_or_else(|| "client".to_owned()),
            version: "1.0.0".to_owned(),
        },
        era: fields.one_of("era", &era)?.unwrap_or(Era::Initialize),
        server: Some(ServerName::parse(&server).map_err(named)?),
        server_trust: fields.one_of("trust", &trust)?.flatten(),
        approver: fields.one_of("approver", &approver)?.unwrap_or(Some(ApproverClass::Operator)),
        labels: fields.texts("labels")?.unwrap_or_default().into_iter().map(label).collect(),
        echoes_incomplete: fields.flag("echoes-incomplete")?,
        echoes: each(&place, &mut fields, "echoes", echo)?,
        meters: each(&place, &mut fields, "meters", meter)?,
        tool_rounds: fields.number("tool-rounds")?.unwrap_or_default(),
        round: fields.number("round")?.unwrap_or(1),
    };
    fields.end()?;
    Ok(facts)
}

fn each<T>(
    place: &str,
    fields: &mut Fields,
    key: &str,
    read: fn(&mut Fields) -> Result<T, FixtureError>,
) -> Result<Vec<T>, FixtureError> {
    let mut all = Vec::new();
    for stated in fields.list(key)?.unwrap_or_default() {
        let mut one = Fields::of(&format!("{place}.{key}"), &stated)?;
        all.push(read(&mut one)?);
        one.end()?;
    }
    Ok(all)
}

fn label(name: String) -> LabelFact {
    LabelFact { name, server: "elsewhere".to_owned(), tool: "read".to_owned() }
}

fn meter(fields: &mut Fields) -> Result<MeterReading, FixtureError> {
    Ok(MeterReading {
        meter: fields.required("meter")?,
        key: fields.required("key")?,
        amount: fields.number("amount")?.unwrap_or_default(),
        window_seconds: fields.number("window-seconds")?.unwrap_or(60),
    })
}

fn echo(fields: &mut Fields) -> Result<Echo, FixtureError> {
    let encodings = [
        ("plain", Encoding::Plain),
        ("base64", Encoding::Base64),
        ("hex", Encoding::Hex),
        ("percent", Encoding::Percent),
        ("reversed", Encoding::Reversed),
    ];
    Ok(Echo {
        span: Span {
            segment: fields.number("segment")?.unwrap_or_default(),
            start: fields.number("start")?.unwrap_or_default(),
            end: fields.number("end")?.unwrap_or_default(),
        },
        label: fields.required("label")?,
        server: fields.required("server")?,
        tool: fields.required("tool")?,
        encoding: fields.one_of("encoding", &encodings)?.unwrap_or(Encoding::Plain),
        prose: fields.flag("prose")?,
        length: fields.number("length")?.unwrap_or_default(),
        text: fields.number("text")?.unwrap_or_default(),
    })
}

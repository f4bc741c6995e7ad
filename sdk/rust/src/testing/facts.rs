//! Facts for tests.

use serde::Deserialize;

use crate::{ApproverClass, Client, Echo, Encoding, Era, Facts, LabelFact, MeterReading, Span, Trust};

/// Returns facts of a quiet session: a server named `server`, no tier, an operator at hand, nothing counted.
pub fn facts() -> Facts {
    Facts {
        session: "session".to_owned(),
        principal: "principal".to_owned(),
        client: Client { name: "client".to_owned(), version: "1.0.0".to_owned() },
        era: Era::Initialize,
        server: "server".to_owned(),
        server_trust: None,
        approver: Some(ApproverClass::Operator),
        labels: Vec::new(),
        echoes_incomplete: false,
        echoes: Vec::new(),
        meters: Vec::new(),
        tool_rounds: 0,
        round: 1,
    }
}

/// Facts as a fixture states them; what is left out is as in [`facts`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Stated {
    server: Option<String>,
    trust: Option<TrustName>,
    approver: Option<ApproverName>,
    era: Option<EraName>,
    client: Option<String>,
    labels: Vec<String>,
    meters: Vec<Reading>,
    echoes: Vec<StatedEcho>,
    echoes_incomplete: bool,
    tool_rounds: u32,
    round: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TrustName {
    Untrusted,
    Full,
    Unknown,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ApproverName {
    Client,
    Operator,
    Nobody,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EraName {
    Initialize,
    Stateless,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Reading {
    meter: String,
    key: String,
    amount: u64,
    #[serde(default = "minute")]
    window_seconds: u32,
}

fn minute() -> u32 {
    60
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StatedEcho {
    segment: u32,
    start: u32,
    end: u32,
    label: String,
    server: String,
    tool: String,
    #[serde(default)]
    encoding: EncodingName,
    #[serde(default)]
    prose: bool,
    length: u32,
    #[serde(default)]
    text: u32,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EncodingName {
    #[default]
    Plain,
    Base64,
    Hex,
    Percent,
    Reversed,
}

impl Stated {
    /// Returns the facts that are meant.
    pub(super) fn build(&self) -> Facts {
        let base = facts();
        Facts {
            server: self.server.clone().unwrap_or(base.server),
            server_trust: match self.trust {
                Some(TrustName::Untrusted) => Some(Trust::Untrusted),
                Some(TrustName::Full) => Some(Trust::Full),
                Some(TrustName::Unknown) | None => None,
            },
            approver: match self.approver {
                Some(ApproverName::Client) => Some(ApproverClass::Client),
                Some(ApproverName::Operator) => Some(ApproverClass::Operator),
                Some(ApproverName::Nobody) => None,
                None => base.approver,
            },
            era: match self.era {
                Some(EraName::Initialize) => Era::Initialize,
                Some(EraName::Stateless) => Era::Stateless,
                None => base.era,
            },
            client: Client { name: self.client.clone().unwrap_or(base.client.name), version: base.client.version },
            labels: self.labels.iter().map(|name| label(name)).collect(),
            meters: self.meters.iter().map(reading).collect(),
            echoes: self.echoes.iter().map(echo).collect(),
            echoes_incomplete: self.echoes_incomplete,
            tool_rounds: self.tool_rounds,
            round: self.round.unwrap_or(base.round),
            session: base.session,
            principal: base.principal,
        }
    }
}

fn label(name: &str) -> LabelFact {
    LabelFact { name: name.to_owned(), server: "elsewhere".to_owned(), tool: "read".to_owned() }
}

fn reading(reading: &Reading) -> MeterReading {
    MeterReading {
        meter: reading.meter.clone(),
        key: reading.key.clone(),
        amount: reading.amount,
        window_seconds: reading.window_seconds,
    }
}

fn echo(echo: &StatedEcho) -> Echo {
    Echo {
        span: Span { segment: echo.segment, start: echo.start, end: echo.end },
        label: echo.label.clone(),
        server: echo.server.clone(),
        tool: echo.tool.clone(),
        encoding: match echo.encoding {
            EncodingName::Plain => Encoding::Plain,
            EncodingName::Base64 => Encoding::Base64,
            EncodingName::Hex => Encoding::Hex,
            EncodingName::Percent => Encoding::Percent,
            EncodingName::Reversed => Encoding::Reversed,
        },
        prose: echo.prose,
        length: echo.length,
        text: echo.text,
    }
}

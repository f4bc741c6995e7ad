use portcullis_model as model;

use crate::v0_1::generated::portcullis::policy::types;

/// Facts with the lists that the guest's view borrows.
pub(crate) struct Facts<'a> {
    told: &'a model::Facts,
    labels: Vec<types::LabelFact<'a>>,
    echoes: Vec<types::Echo<'a>>,
    meters: Vec<types::MeterReading<'a>>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(facts: &'a model::Facts) -> Self {
        Self {
            told: facts,
            labels: facts
                .labels
                .iter()
                .map(|label| types::LabelFact { name: &label.name, server: &label.server, tool: &label.tool })
                .collect(),
            echoes: facts.echoes.iter().map(echo).collect(),
            meters: facts
                .meters
                .iter()
                .map(|reading| types::MeterReading {
                    meter: &reading.meter,
                    key: &reading.key,
                    amount: reading.amount,
                    window_seconds: reading.window_seconds,
                })
                .collect(),
        }
    }

    pub(crate) fn view(&self) -> types::Facts<'_> {
        let facts = self.told;
        types::Facts {
            session: facts.session.as_str(),
            principal: facts.principal.as_str(),
            client: types::Client { name: &facts.client.name, version: &facts.client.version },
            era: match facts.era {
                model::Era::Initialize => types::Era::Initialize,
                model::Era::Stateless => types::Era::Stateless,
            },
            server: facts.server.as_ref().map_or("", model::ServerName::as_str),
            server_trust: facts.server_trust.map(|trust| match trust {
                model::Trust::Untrusted => types::Trust::Untrusted,
                model::Trust::Full => types::Trust::Full,
            }),
            approver: facts.approver.map(|class| match class {
                model::ApproverClass::Client => types::ApproverClass::Client,
                model::ApproverClass::Operator => types::ApproverClass::Operator,
            }),
            labels: &self.labels,
            echoes_incomplete: facts.echoes_incomplete,
            echoes: &self.echoes,
            meters: &self.meters,
            tool_rounds: facts.tool_rounds,
            round: facts.round,
        }
    }
}

fn echo(echo: &model::Echo) -> types::Echo<'_> {
    types::Echo {
        span: types::Span { segment: echo.span.segment, start: echo.span.start, end: echo.span.end },
        label: &echo.label,
        server: &echo.server,
        tool: &echo.tool,
        encoding: match echo.encoding {
            model::Encoding::Plain => types::Encoding::Plain,
            model::Encoding::Base64 => types::Encoding::Base64,
            model::Encoding::Hex => types::Encoding::Hex,
            model::Encoding::Percent => types::Encoding::Percent,
            model::Encoding::Reversed => types::Encoding::Reversed,
        },
        prose: echo.prose,
        length: echo.length,
        text: echo.text,
    }
}

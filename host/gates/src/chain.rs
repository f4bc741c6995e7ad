//! All policies of a gate over one immutable subject.

mod check;
mod extensions;
mod verdict;

use std::sync::Arc;

use futures_util::future::join_all;
use portcullis_model::{Facts, MeterReading, PolicyName, Subject};

use crate::session::Meters;
use crate::{ActivePolicy, Context, Evaluation, Gates};
pub(crate) use check::{View, check, check_findings, renames};
pub(crate) use extensions::join as join_extensions;
pub(crate) use verdict::{Heard, Objection, Stance, objection};

/// The policies that judge at a gate.
pub(crate) type Judges = [Arc<ActivePolicy>];

/// Returns what the host tells all policies of a passage.
pub(crate) fn facts(gates: &Gates, context: &Context, server: &portcullis_model::ServerName, round: u32) -> Facts {
    Facts {
        session: context.session.id.clone(),
        principal: context.session.principal.clone(),
        client: context.session.client.clone(),
        era: context.session.era,
        server: Some(server.clone()),
        server_trust: context.server_trust,
        approver: gates.inbox().class(context.approver.class()),
        labels: context.session.labels(),
        echoes_incomplete: false,
        echoes: Vec::new(),
        meters: Vec::new(),
        tool_rounds: context.tool_rounds,
        round,
    }
}

/// What the meters of policies read, of those that have any.
pub(crate) type Readings = Vec<(PolicyName, Vec<MeterReading>)>;

/// Returns what the meters of the policies of a chain read now.
pub(crate) fn readings(chain: &Judges, context: &Context, meters: &Meters) -> Readings {
    let metered = chain.iter().filter(|policy| !policy.description.meters.is_empty());
    let readings =
        metered.map(|policy| (policy.description.name.clone(), meters.readings(&context.session.principal, policy)));
    readings.filter(|(_, readings)| !readings.is_empty()).collect()
}

/// Lets every policy judge the subject, at the same time where there are several, and returns their evaluations in the
/// order of the chain. Each sees its own meters only.
pub(crate) async fn evaluate(
    chain: &Judges,
    readings: &Readings,
    facts: &Facts,
    subject: &Arc<Subject>,
) -> Vec<Evaluation> {
    if let [policy] = chain {
        return vec![evaluate_one(policy, readings, facts, subject).await];
    }
    join_all(chain.iter().map(|policy| evaluate_one(policy, readings, facts, subject))).await
}

async fn evaluate_one(policy: &ActivePolicy, readings: &Readings, facts: &Facts, subject: &Arc<Subject>) -> Evaluation {
    match readings.iter().find(|(name, _)| *name == policy.description.name) {
        None => policy.evaluator.evaluate_shared(facts, subject).await,
        Some((_, readings)) => {
            let facts = Facts { meters: readings.clone(), ..facts.clone() };
            policy.evaluator.evaluate_shared(&facts, subject).await
        }
    }
}

//! The environment gate: what a stdio server gets of the gateway's own environment.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_model::json::{Object, Value};
use portcullis_model::{Answer, GateName, Platform, Selection, Subject};

use crate::chain::{Heard, Stance, check_findings, evaluate, facts, readings};
use crate::judge::{open_gate, strongest};
use crate::loader::is_loader_variable;
use crate::passage::{Passage, Refused};
use crate::segments::{self, TooLarge};
use crate::{
    ActivePolicy, Cleared, Context, Environment, Evaluation, Fault, Gates, Receipt, RecordedDecision, Refusal,
    RefusalCode,
};

pub(super) async fn select(
    gates: &Gates,
    context: &Context,
    mut environment: Environment,
) -> Result<Cleared<Environment>, Refusal> {
    let names: Vec<Value> = environment.variables.iter().map(|(name, _)| Value::from(name.as_str())).collect();
    let mut digested = Object::new();
    digested.insert("entry", environment.entry.document.clone());
    digested.insert("offered", names);
    let digest = gates.keyed_digest(&Value::Object(digested));
    let server = environment.entry.name.clone();
    let mut passage = Passage::begin(gates, context, GateName::Environment, &server, server.as_str(), digest);
    let receipt = match withhold(&mut passage, &mut environment).await {
        Ok(receipt) => receipt,
        Err(refused) => return Err(passage.refuse(refused).await),
    };
    passage.clear(RecordedDecision::Cleared).await?;
    Ok(Cleared::new(environment, receipt))
}

/// Leaves what no policy withholds and what loads no code. Where no policy answered, nothing is left.
async fn withhold(passage: &mut Passage<'_>, environment: &mut Environment) -> Result<Receipt, Refused> {
    let set = Arc::clone(&passage.context.set);
    let chain = open_gate(passage, &set)?;
    let removed = if chain.policies.is_empty() {
        None
    } else {
        let too_large = |TooLarge| Refused::by_host(RefusalCode::TooLarge, "the entry is larger than a gate judges");
        let subject = Arc::new(segments::environment(environment).map_err(too_large)?.subject);
        removals(passage, &chain.policies, &subject).await?
    };
    match removed {
        None => environment.variables.clear(),
        Some(removed) => {
            environment.variables.retain(|(name, _)| !removed.withholds(name) && !is_loader_variable(name));
        }
    }
    let left: BTreeSet<&str> = environment.variables.iter().map(|(name, _)| name.as_str()).collect();
    environment.tagged.retain(|name| left.contains(name.as_str()));
    Ok(Receipt {
        gate: GateName::Environment,
        generation: passage.generation,
        policies: Arc::clone(&chain.digests),
        rounds: u32::from(!chain.policies.is_empty()),
        edited: false,
    })
}

/// The names that policies withhold. Windows does not tell names apart by case.
#[derive(Debug, Default)]
struct Removed(BTreeSet<String>);

impl Removed {
    fn spelled(name: &str) -> String {
        if Platform::current() == Platform::Windows { name.to_uppercase() } else { name.to_owned() }
    }

    fn withholds(&self, name: &str) -> bool {
        self.0.contains(&Self::spelled(name))
    }
}

/// Returns the union of what all policies withhold; nothing where none that counts gave an answer.
async fn removals(
    passage: &mut Passage<'_>,
    policies: &[Arc<ActivePolicy>],
    subject: &Arc<Subject>,
) -> Result<Option<Removed>, Refused> {
    let facts = facts(passage.gates, passage.context, &passage.server, 1);
    let readings = readings(policies, passage.context, &passage.gates.meters);
    let evaluations = evaluate(policies, &readings, &facts, subject).await;
    let mut removed: Option<Removed> = None;
    let mut heard = Vec::with_capacity(policies.len());
    for (policy, Evaluation { outcome, cost }) in policies.iter().zip(evaluations) {
        let (one, names) = hear(policy, subject, outcome);
        if let Some(names) = names
            && one.counts()
        {
            removed.get_or_insert_default().0.extend(names.iter().map(|name| Removed::spelled(name)));
        }
        heard.push((one, cost));
    }
    let refused = strongest(heard.iter().map(|(heard, _)| heard));
    passage.records.extend(heard.into_iter().map(|(heard, cost)| heard.into_record(1, cost)));
    match refused {
        Some(refused) => Err(refused),
        None => Ok(removed),
    }
}

fn hear(policy: &Arc<ActivePolicy>, subject: &Subject, outcome: Result<Answer, Fault>) -> (Heard, Option<Vec<String>>) {
    let broken = |fault| (Heard::broken(policy, fault), None);
    match outcome {
        Ok(Answer::Selection(Selection { removed, findings, extensions: _ })) => {
            let segments = match subject {
                Subject::Environment(subject) => &subject.config.segments[..],
                Subject::Config(_)
                | Subject::Listing(_)
                | Subject::Call(_)
                | Subject::Result(_)
                | Subject::Request(_) => &[],
            };
            let mut dropped = Vec::new();
            match check_findings(policy, segments, findings, &mut dropped) {
                Ok(findings) => {
                    let mut heard = Heard::silent(policy, Stance::Allow);
                    heard.findings = findings;
                    heard.dropped = dropped;
                    (heard, Some(removed))
                }
                Err(reason) => broken(Fault::Malformed(reason)),
            }
        }
        Ok(Answer::Verdict(_) | Answer::Verdicts(_)) => {
            broken(Fault::Malformed("it answered for another gate".to_owned()))
        }
        Err(fault) => broken(fault),
    }
}

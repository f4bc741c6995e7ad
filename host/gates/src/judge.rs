//! The course of a value through a gate that gives verdicts: rounds, questions, admission, record.

mod outcome;
mod payloads;

use std::sync::Arc;
use std::time::Instant;

use portcullis_model::json::{Object, Value};
use portcullis_model::{Answer, Digest, Edit, GateName, Segment, ServerName, Subject};

use crate::approval::{Answered, Asked, Memory, recall};
use crate::chain::{self, Heard, Objection, View, check, evaluate, facts, objection, readings};
use crate::display::{LONGEST_NAME, escaped};
use crate::edits::{Fence, apply, put_up};
use crate::inbox::{Asking, Hold, Unapproved};
use crate::passage::{Passage, Refused};
use crate::segments::{Place, Segmented, TooLarge};
use crate::session::Marked;
use crate::{
    ActivePolicy, Bound, Cleared, Context, Evaluation, Fault, Gates, Judged, PolicySet, Prompt, Refusal, RefusalCode,
};

pub(crate) use outcome::Outcome;
pub(crate) use payloads::shown_launch;

/// A chain runs at most so often on one value (design §5): removing a hidden character can complete a hidden word, and
/// what still changes after that is made to.
pub(crate) const MOST_ROUNDS: u32 = 3;

/// An approver is asked at most so often about one value: once, and again where the policies changed meanwhile.
const MOST_PROMPTS: u32 = 3;

/// A value that a gate with verdicts judges.
pub(crate) trait Payload: Sized + Send {
    /// The gate.
    const GATE: GateName;

    /// The server that it belongs to.
    fn server(&self) -> &ServerName;
    /// The server's own name of it.
    fn name(&self) -> &str;
    /// Digest of it as it came.
    fn digest(&self, gates: &Gates) -> Digest;
    /// What policies judge.
    fn subject(&self) -> Result<Segmented, TooLarge>;
    /// Returns what its texts are taken from.
    fn document(&self) -> &Value;
    /// What edits may change, and where it stands; nothing at gates without edits.
    fn editable(&mut self) -> Option<(&mut Value, Place)>;
    /// What becomes of it where nobody can answer at once.
    fn hold(&self) -> Hold;
    /// What kind of thing it is, in a word.
    fn kind(&self) -> &'static str;
    /// The definition or content that an approval is bound to.
    fn bound_to(&self, gates: &Gates, subject: Digest) -> Option<Digest>;
    /// What the constraint of a grant looks at.
    fn arguments(&self) -> Value;
    /// The arguments, for an approver.
    fn shown(&self) -> String;
    /// What is known of the definition, for an approver.
    fn shown_definition(&self) -> String;
    /// False where the definition is no longer what was judged.
    fn is_current(&self, context: &Context) -> bool;
}

/// Leads a value through its gate.
pub(crate) async fn pass<P: Payload>(
    gates: &Gates,
    context: &Context,
    mut payload: P,
) -> Result<(Cleared<P>, Object), Refusal> {
    let digest = payload.digest(gates);
    let mut passage = Passage::begin(gates, context, P::GATE, payload.server(), payload.name(), digest);
    let admitted = match settle(&mut passage, &mut payload).await {
        Ok(outcome) => match passage.release().await {
            Ok(()) => admit(&passage, &outcome).map(|()| outcome),
            Err(refused) => Err(refused),
        },
        Err(refused) => Err(refused),
    };
    let mut outcome = match admitted {
        Ok(outcome) => outcome,
        Err(refused) => return Err(passage.refuse(refused).await),
    };
    let texts = labelled_texts(context, &payload, &mut outcome);
    if let Some((document, _)) = payload.editable() {
        outcome.fenced = put_up(&outcome.fences, document) > 0;
    }
    let receipt = outcome.receipt(P::GATE, passage.generation);
    let decision = passage.decision(receipt.edited);
    if payload.hold() == Hold::Stand {
        gates.inbox().settle(&passage.thing(payload.kind()));
    }
    passage.clear(decision).await?;
    context.session.learn(outcome.labels, &texts);
    Ok((Cleared::new(payload, receipt), outcome.extensions))
}

/// Returns the texts that the session is to recognise later: of a labelled result, where a policy of the call gate reads
/// labels. As they were before the host put fences up, which are no words of the source.
fn labelled_texts<P: Payload>(context: &Context, payload: &P, outcome: &mut Outcome) -> Vec<Segment> {
    if P::GATE != GateName::Result || outcome.labels.is_empty() || !context.set.reads_echoes() {
        return Vec::new();
    }
    // What the last round judged is what passes; nothing was judged where the last set has no policies here.
    let judged = outcome.judged.take();
    judged.or_else(|| payload.subject().ok().and_then(|segmented| texts(segmented.subject))).unwrap_or_default()
}

/// Returns the texts of a result.
fn texts(subject: Subject) -> Option<Vec<Segment>> {
    match subject {
        Subject::Result(subject) => Some(subject.segments),
        Subject::Config(_) | Subject::Environment(_) | Subject::Listing(_) | Subject::Call(_) | Subject::Request(_) => {
            None
        }
    }
}

/// Applies the charges of a passage at once, or says which exceeded its limit.
pub(crate) fn admit(passage: &Passage<'_>, outcome: &Outcome) -> Result<(), Refused> {
    let charges = &outcome.charges;
    passage.gates.meters.admit(&passage.context.session.principal, charges).map_err(|index| match charges.get(index) {
        Some(charge) => {
            let detail = format!("the meter `{}` has reached its limit of {}", charge.meter, charge.limit);
            Refused::by_policy(RefusalCode::LimitExceeded, &charge.policy, detail)
        }
        None => Refused::by_host(RefusalCode::LimitExceeded, "a meter has reached its limit"),
    })
}

/// Runs rounds and asks approvers until nothing is open.
async fn settle<P: Payload>(passage: &mut Passage<'_>, payload: &mut P) -> Result<Outcome, Refused> {
    let mut set = Arc::clone(&passage.context.set);
    let mut answered: Vec<Answered> = Vec::new();
    let mut edited = false;
    let mut labels: Vec<Marked> = Vec::new();
    for prompts in 0..=MOST_PROMPTS {
        let mut outcome = converge(passage, &set, payload).await?;
        if outcome.edited {
            // An approver who answered saw something else.
            answered.clear();
            passage.tickets.clear();
        }
        edited |= outcome.edited;
        outcome.edited = edited;
        let asked: Vec<Asked> = std::mem::take(&mut outcome.questions)
            .into_iter()
            .filter(|asked| !answered.iter().any(|answer| answer.covers(asked)))
            .collect();
        labels.append(&mut outcome.labels);
        let open = if asked.is_empty() { Vec::new() } else { unanswered(passage, payload, asked)? };
        if open.is_empty() {
            outcome.labels = labels;
            return Ok(outcome);
        }
        if prompts == MOST_PROMPTS {
            break;
        }
        answered.extend(open.iter().map(|(asked, _)| Answered::new(asked)));
        ask(passage, payload, open).await?;
        if !payload.is_current(passage.context) {
            let detail = "the definition changed while an approver was asked";
            return Err(Refused::by_host(RefusalCode::DefinitionChanged, detail));
        }
        set = passage.gates.set();
    }
    Err(Refused::by_host(RefusalCode::NotConverging, "each answer was followed by another question"))
}

/// Returns the questions that no grant answers, each with what an answer is bound to.
fn unanswered<P: Payload>(
    passage: &mut Passage<'_>,
    payload: &P,
    asked: Vec<Asked>,
) -> Result<Vec<(Asked, Bound)>, Refused> {
    let arguments = payload.arguments();
    let definition = payload.bound_to(passage.gates, passage.subject);
    let mut open = Vec::new();
    for asked in asked {
        let bound = passage.bound(&asked, payload.kind(), definition);
        match recall(passage, &asked, &bound, &arguments) {
            Memory::Nothing => open.push((asked, bound)),
            Memory::Approved => {}
            Memory::Refused(refused) => return Err(refused),
        }
    }
    Ok(open)
}

async fn ask<P: Payload>(passage: &mut Passage<'_>, payload: &P, open: Vec<(Asked, Bound)>) -> Result<(), Refused> {
    let (asked, questions): (Vec<Asked>, Vec<Bound>) = open.into_iter().unzip();
    let context = passage.context;
    let asking = Asking {
        hold: payload.hold(),
        prompt: Prompt {
            gate: P::GATE,
            server: escaped(passage.server.as_str(), LONGEST_NAME),
            name: escaped(&passage.name, LONGEST_NAME),
            arguments: payload.shown(),
            definition: payload.shown_definition(),
            questions: asked.iter().map(Asked::to_prompt).collect(),
        },
        kind: payload.kind(),
        session: &context.session,
        lowest: Asked::lowest_approver(&asked),
        questions: questions.clone(),
        arguments: payload.arguments(),
        subject: passage.subject,
        generation: passage.generation,
    };
    let asked_at = Instant::now();
    let outcome = passage.gates.inbox().ask(asking, &*context.approver, passage.gates.limits).await;
    passage.waited += asked_at.elapsed();
    match outcome {
        Ok((ticket, _)) => {
            passage.tickets.push((ticket, questions));
            Ok(())
        }
        Err(Unapproved { code, given }) => {
            if let Some(given) = given {
                passage.note(&questions, &given, &[]);
            }
            let codes: Vec<_> = asked.iter().map(|asked| asked.question.code.as_str()).collect();
            let codes = codes.join(", ");
            let detail = if let RefusalCode::ApprovalPending(id) = &code {
                format!("question {id} waits for an answer: {codes}")
            } else {
                format!("not approved: {codes}")
            };
            Err(Refused { code, policy: questions.into_iter().next().map(|bound| bound.policy), detail })
        }
    }
}

/// Runs the chain until nothing changes any more.
async fn converge<P: Payload>(passage: &mut Passage<'_>, set: &PolicySet, payload: &mut P) -> Result<Outcome, Refused> {
    let chain = open_gate(passage, set)?;
    let mut outcome = Outcome { digests: Arc::clone(&chain.digests), ..Outcome::default() };
    if chain.policies.is_empty() && chain.shadows.is_empty() {
        return Ok(outcome);
    }
    for round in 1..=MOST_ROUNDS {
        outcome.rounds = round;
        if !run_round(passage, chain, payload, &mut outcome).await? {
            return Ok(outcome);
        }
        outcome.edited = true;
    }
    let detail = format!("edits went on changing the value after {MOST_ROUNDS} rounds");
    Err(Refused::by_host(RefusalCode::NotConverging, &detail))
}

/// Returns the chain of the passage's gate, unless a required policy is missing.
pub(crate) fn open_gate<'s>(passage: &mut Passage<'_>, set: &'s PolicySet) -> Result<&'s crate::set::Chain, Refused> {
    passage.generation = set.generation;
    match set.missing(passage.gate) {
        Some(policy) => Err(Refused::by_policy(RefusalCode::PolicyMissing, policy, Fault::Missing.to_string())),
        None => Ok(set.judging(passage.gate)),
    }
}

/// Lets the chain judge once. Returns true where its edits changed the value.
async fn run_round<P: Payload>(
    passage: &mut Passage<'_>,
    chain: &crate::set::Chain,
    payload: &mut P,
    outcome: &mut Outcome,
) -> Result<bool, Refused> {
    let policies = &chain.policies;
    let round = outcome.rounds;
    let too_large = |TooLarge| Refused::by_host(RefusalCode::TooLarge, "the text is larger than a gate judges");
    // Few large values are copied for policies at once; the others wait as they came.
    let _place = passage.gates.place_for(payload.document()).await;
    let Segmented { subject, encoded } = payload.subject().map_err(too_large)?;
    let subject = Arc::new(subject);
    let mut facts = facts(passage.gates, passage.context, &passage.server, round);
    if chain.reads_echoes {
        passage.context.session.echoes(segments(&subject), &mut facts);
    }
    let mut readings = readings(policies, passage.context, &passage.gates.meters);
    let told = readings.len();
    let evaluations = evaluate(policies, &readings, &facts, &subject).await;
    let segments = segments(&subject);
    let view = View {
        segments,
        editable: payload.editable().map(|(document, place)| (&*document, place)),
        server: passage.server.as_str(),
        name: &passage.name,
    };
    let mut heard: Vec<(Heard, crate::Cost)> = policies
        .iter()
        .zip(evaluations)
        .map(|(policy, Evaluation { outcome, cost })| (hear(policy, view, outcome), cost))
        .collect();
    if round == 1 && !chain.shadows.is_empty() {
        readings.extend(chain::readings(&chain.shadows, passage.context, &passage.gates.meters));
        let counted = heard.iter().map(|(heard, _)| heard);
        passage.gates.shadows.leave(passage, &chain.shadows, (&facts, &readings, &subject), view.editable, &counted);
        readings.truncate(told);
    }
    // A server entry holds credentials: what judged one is not kept.
    if passage.gates.keeps_inputs && P::GATE != GateName::Config {
        let document = payload.editable().map(|(document, _)| document.clone());
        passage.inputs.push(Arc::new(Judged { facts, readings, subject: Subject::clone(&subject), document }));
    }
    let refused = strongest(heard.iter().map(|(heard, _)| heard));
    let mut changed = Ok(false);
    if refused.is_none() {
        let mut counted = heard.iter_mut().map(|(heard, _)| heard).filter(|heard| heard.counts());
        changed = match counted.try_for_each(|heard| outcome.take(P::GATE, heard)) {
            Ok(()) => edit(payload, segments, &encoded, &heard, outcome),
            Err(refused) => Err(refused),
        };
    }
    passage.records.extend(heard.into_iter().map(|(heard, cost)| heard.into_record(round, cost)));
    if let Some(refused) = refused {
        return Err(refused);
    }
    if !outcome.labels.is_empty() {
        outcome.judged = texts(Arc::unwrap_or_clone(subject));
    }
    changed
}

fn edit<P: Payload>(
    payload: &mut P,
    segments: &[Segment],
    encoded: &[usize],
    heard: &[(Heard, crate::Cost)],
    outcome: &mut Outcome,
) -> Result<bool, Refused> {
    let mut edits = counted_edits(heard.iter().map(|(heard, _)| heard)).peekable();
    let (Some(_), Some((document, _))) = (edits.peek(), payload.editable()) else {
        return Ok(false);
    };
    let applied = apply(document, segments, encoded, edits)
        .map_err(|error| Refused::by_host(RefusalCode::EditFailed, &error.to_string()))?;
    add_fences(&mut outcome.fences, applied.fences);
    Ok(applied.changed)
}

/// Returns the edits of the policies that count.
pub(crate) fn counted_edits<'h>(heard: impl Iterator<Item = &'h Heard>) -> impl Iterator<Item = &'h Edit> {
    heard.filter(|heard| heard.counts()).flat_map(|heard| &heard.edits)
}

/// Adds fences; a text gets one, however many policies and rounds wish for it.
pub(crate) fn add_fences(fences: &mut Vec<Fence>, further: Vec<Fence>) {
    fences.extend(further);
    fences.sort();
    fences.dedup();
}

/// Checks the outcome of an evaluation at a gate with one verdict.
pub(crate) fn hear(policy: &Arc<ActivePolicy>, view: View<'_>, outcome: Result<Answer, Fault>) -> Heard {
    match outcome {
        Ok(Answer::Verdict(verdict)) => check(policy, view, verdict),
        Ok(Answer::Verdicts(_) | Answer::Selection(_)) => {
            Heard::broken(policy, Fault::Malformed("it answered for another gate".to_owned()))
        }
        Err(fault) => Heard::broken(policy, fault),
    }
}

/// Returns the strongest decision against a passage: the first denial, else the first fault that denies.
pub(crate) fn strongest<'h>(heard: impl Iterator<Item = &'h Heard>) -> Option<Refused> {
    let mut strongest: Option<(&Heard, Objection)> = None;
    for heard in heard.filter(|heard| heard.counts()) {
        let Some(found) = objection(heard) else {
            continue;
        };
        let outranks = strongest.as_ref().is_none_or(|(_, known)| found.denial && !known.denial);
        if outranks {
            strongest = Some((heard, found));
        }
    }
    strongest.map(|(heard, found)| Refused::by_policy(found.code, &heard.policy.description.name, found.detail))
}

pub(crate) fn segments(subject: &Subject) -> &[Segment] {
    match subject {
        Subject::Config(subject) => &subject.segments,
        Subject::Environment(subject) => &subject.config.segments,
        Subject::Listing(_) => &[],
        Subject::Call(subject) => &subject.segments,
        Subject::Result(subject) => &subject.segments,
        Subject::Request(subject) => &subject.segments,
    }
}

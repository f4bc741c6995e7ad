//! One gate of one instance, ready to be called.

use std::fmt;

use portcullis_model::{
    Answer, Batch, CallSubject, ConfigSubject, EnvironmentSubject, Facts, GateName, RequestSubject, ResultSubject,
    Segment, Subject,
};
use wasmtime::AsContextMut;

use crate::error::CallError;
use crate::error::Malformed;
use crate::v0_1::generated::exports::portcullis::policy::{
    call_gate, config_gate, environment_gate, listing_gate, request_gate, result_gate,
};
use crate::v0_1::lift;
use crate::v0_1::lower;

/// One gate of one instance, ready to be called. Calling it on another store is an error.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) guest: Guest,
}

#[derive(Clone)]
pub(crate) enum Guest {
    Config(config_gate::Guest),
    Environment(environment_gate::Guest),
    Listing(listing_gate::Guest),
    Call(call_gate::Guest),
    Result(result_gate::Guest),
    Request(request_gate::Guest),
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Gate").field(&self.name()).finish()
    }
}

impl Gate {
    /// Returns which gate it is.
    pub(crate) fn name(&self) -> GateName {
        match self.guest {
            Guest::Config(_) => GateName::Config,
            Guest::Environment(_) => GateName::Environment,
            Guest::Listing(_) => GateName::Listing,
            Guest::Call(_) => GateName::Call,
            Guest::Result(_) => GateName::Result,
            Guest::Request(_) => GateName::Request,
        }
    }

    /// Lets the policy judge a subject of this gate. Without `payload`, documents and segments are left out.
    pub(crate) fn evaluate(
        &self,
        mut store: impl AsContextMut,
        facts: &Facts,
        subject: &Subject,
        payload: bool,
    ) -> Result<Answer, CallError> {
        let facts = lower::Facts::new(facts);
        let (store, facts) = (&mut store, &facts);
        match (&self.guest, subject) {
            (Guest::Config(guest), Subject::Config(subject)) => config(guest, store, facts, subject, payload),
            (Guest::Environment(guest), Subject::Environment(subject)) => {
                environment(guest, store, facts, subject, payload)
            }
            (Guest::Listing(guest), Subject::Listing(batch)) => listing(guest, store, facts, batch, payload),
            (Guest::Call(guest), Subject::Call(subject)) => call(guest, store, facts, subject, payload),
            (Guest::Result(guest), Subject::Result(subject)) => result(guest, store, facts, subject, payload),
            (Guest::Request(guest), Subject::Request(subject)) => request(guest, store, facts, subject, payload),
            (_, subject) => Err(CallError::NotExported(subject.gate())),
        }
    }
}

/// Returns the segments that the guest saw: spans into others would point at nothing it knows.
fn seen(segments: &[Segment], payload: bool) -> &[Segment] {
    if payload { segments } else { &[] }
}

fn config(
    guest: &config_gate::Guest,
    store: &mut impl AsContextMut,
    facts: &lower::Facts<'_>,
    subject: &ConfigSubject,
    payload: bool,
) -> Result<Answer, CallError> {
    let entry = lower::Entry::new(subject, payload);
    let verdict = guest.call_screen(store, facts.view(), entry.view())?;
    Ok(Answer::Verdict(lift::verdict(verdict, seen(&subject.segments, payload))?))
}

fn environment(
    guest: &environment_gate::Guest,
    store: &mut impl AsContextMut,
    facts: &lower::Facts<'_>,
    subject: &EnvironmentSubject,
    payload: bool,
) -> Result<Answer, CallError> {
    let entry = lower::Entry::new(&subject.config, payload);
    let offers = lower::Entry::offers(subject);
    let selection = guest.call_select(store, facts.view(), entry.environment(subject, &offers))?;
    Ok(Answer::Selection(lift::selection(selection, seen(&subject.config.segments, payload))?))
}

fn listing(
    guest: &listing_gate::Guest,
    store: &mut impl AsContextMut,
    facts: &lower::Facts<'_>,
    batch: &Batch,
    payload: bool,
) -> Result<Answer, CallError> {
    let texts = lower::Batch::new(batch, payload);
    let verdicts = texts.with(|view| guest.call_scan(store, facts.view(), view))?;
    if verdicts.len() != batch.items.len() {
        return Err(Malformed::Count { verdicts: verdicts.len(), items: batch.items.len() }.into());
    }
    let verdicts = verdicts
        .into_iter()
        .zip(&batch.items)
        .map(|(verdict, item)| lift::verdict(verdict, seen(&item.segments, payload)))
        .collect::<Result<_, _>>()?;
    Ok(Answer::Verdicts(verdicts))
}

fn call(
    guest: &call_gate::Guest,
    store: &mut impl AsContextMut,
    facts: &lower::Facts<'_>,
    subject: &CallSubject,
    payload: bool,
) -> Result<Answer, CallError> {
    let call = lower::Call::new(subject, payload);
    let verdict = guest.call_authorize(store, facts.view(), call.view())?;
    Ok(Answer::Verdict(lift::verdict(verdict, seen(&subject.segments, payload))?))
}

fn result(
    guest: &result_gate::Guest,
    store: &mut impl AsContextMut,
    facts: &lower::Facts<'_>,
    subject: &ResultSubject,
    payload: bool,
) -> Result<Answer, CallError> {
    let shown = lower::Shown::new(subject, payload);
    let descriptors = shown.descriptors();
    let verdict = guest.call_sanitize(store, facts.view(), shown.view(&descriptors))?;
    Ok(Answer::Verdict(lift::verdict(verdict, seen(&subject.segments, payload))?))
}

fn request(
    guest: &request_gate::Guest,
    store: &mut impl AsContextMut,
    facts: &lower::Facts<'_>,
    subject: &RequestSubject,
    payload: bool,
) -> Result<Answer, CallError> {
    let request = lower::Request::new(subject, payload);
    let verdict = guest.call_authorize(store, facts.view(), request.view())?;
    Ok(Answer::Verdict(lift::verdict(verdict, seen(&subject.segments, payload))?))
}

//! The exports of one component, found by probing.

use std::any::type_name;
use std::fmt;

use portcullis_model::json::Value;
use portcullis_model::{Answer, Description, Facts, GateName, Pack, Segment, Subject};
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{AsContextMut, StoreContextMut};

use crate::generated::exports::portcullis::policy::{
    call_gate, config_gate, environment_gate, lifecycle, listing_gate, request_gate, result_gate,
};
use crate::lift::{self, Malformed};
use crate::lower;

/// A component is no policy of this line.
#[derive(Debug, thiserror::Error)]
#[error("the component does not export the lifecycle of a policy")]
pub struct ProbeError(#[source] pub wasmtime::Error);

/// Why settings or packs were refused by the policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at `{place}`", message.escape_debug())]
pub struct ConfigureError {
    /// JSON pointer into the settings, or `pack:NAME` and a pointer; empty for the whole.
    pub place: String,
    /// The policy's own words.
    pub message: String,
}

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The guest trapped, was stopped, or answered bytes that are no value of the contract.
    #[error("the guest could not be called")]
    Guest(#[source] wasmtime::Error),
    /// The answer is a value of the contract and yet does not follow it.
    #[error("the answer is malformed")]
    Malformed(#[source] Malformed),
    /// The component does not export the gate.
    #[error("the component does not export the {0} gate")]
    NotExported(GateName),
}

impl From<wasmtime::Error> for CallError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

impl From<Malformed> for CallError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// The exports of one component: the lifecycle, and the gates that it has.
#[derive(Clone)]
pub struct Interfaces {
    lifecycle: lifecycle::GuestIndices,
    config: Option<config_gate::GuestIndices>,
    environment: Option<environment_gate::GuestIndices>,
    listing: Option<listing_gate::GuestIndices>,
    call: Option<call_gate::GuestIndices>,
    result: Option<result_gate::GuestIndices>,
    request: Option<request_gate::GuestIndices>,
}

impl fmt::Debug for Interfaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct(type_name::<Self>()).field("gates", &self.gates()).finish_non_exhaustive()
    }
}

impl Interfaces {
    /// Looks for the interfaces of the contract among the exports.
    pub fn probe<T: 'static>(pre: &InstancePre<T>) -> Result<Self, ProbeError> {
        Ok(Self {
            lifecycle: lifecycle::GuestIndices::new(pre).map_err(ProbeError)?,
            config: config_gate::GuestIndices::new(pre).ok(),
            environment: environment_gate::GuestIndices::new(pre).ok(),
            listing: listing_gate::GuestIndices::new(pre).ok(),
            call: call_gate::GuestIndices::new(pre).ok(),
            result: result_gate::GuestIndices::new(pre).ok(),
            request: request_gate::GuestIndices::new(pre).ok(),
        })
    }

    /// Returns the gates that the component exports.
    pub fn gates(&self) -> Vec<GateName> {
        GateName::ALL.into_iter().filter(|gate| self.exports(*gate)).collect()
    }

    /// Returns true where the component exports the gate.
    pub fn exports(&self, gate: GateName) -> bool {
        match gate {
            GateName::Config => self.config.is_some(),
            GateName::Environment => self.environment.is_some(),
            GateName::Listing => self.listing.is_some(),
            GateName::Call => self.call.is_some(),
            GateName::Result => self.result.is_some(),
            GateName::Request => self.request.is_some(),
        }
    }

    /// Checks that every export has the types of the contract, once, so that a mistyped gate fails while loading.
    pub fn check_types(&self, mut store: impl AsContextMut, instance: &Instance) -> wasmtime::Result<()> {
        self.lifecycle.load(&mut store, instance)?;
        self.config.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.environment.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.listing.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.call.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.result.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        self.request.as_ref().map(|indices| indices.load(&mut store, instance)).transpose()?;
        Ok(())
    }

    /// Asks a policy what it is.
    pub fn describe(&self, mut store: impl AsContextMut, instance: &Instance) -> Result<Description, CallError> {
        let guest = self.lifecycle.load(&mut store, instance)?;
        Ok(lift::description(guest.call_describe(&mut store)?)?)
    }

    /// Hands settings and packs to a policy. The inner error is the policy's own refusal of them.
    pub fn configure(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        settings: &Value,
        packs: &[Pack],
    ) -> Result<Result<(), ConfigureError>, CallError> {
        let guest = self.lifecycle.load(&mut store, instance)?;
        let settings = settings.to_json();
        let data: Vec<_> = packs.iter().map(|pack| pack.data.to_json()).collect();
        let packs: Vec<_> = packs
            .iter()
            .zip(&data)
            .map(|(pack, data)| lifecycle::Pack { name: &pack.name, version: &pack.version, data })
            .collect();
        let answer = guest.call_configure(&mut store, &settings, &packs)?;
        Ok(answer.map_err(|error| ConfigureError { place: error.place, message: error.message }))
    }

    /// Lets a policy judge a subject. Without `payload`, documents and segments are left out.
    pub fn evaluate<T: 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        instance: &Instance,
        facts: &Facts,
        subject: &Subject,
        payload: bool,
    ) -> Result<Answer, CallError> {
        let facts = lower::Facts::new(facts);
        let store = store.as_context_mut();
        let answer = Call { interfaces: self, store, instance, facts: &facts, payload };
        match subject {
            Subject::Config(subject) => answer.config(subject),
            Subject::Environment(subject) => answer.environment(subject),
            Subject::Listing(batch) => answer.listing(batch),
            Subject::Call(subject) => answer.call(subject),
            Subject::Result(subject) => answer.result(subject),
            Subject::Request(subject) => answer.request(subject),
        }
    }
}

/// One evaluation: everything but its subject.
struct Call<'a, T: 'static> {
    interfaces: &'a Interfaces,
    store: StoreContextMut<'a, T>,
    instance: &'a Instance,
    facts: &'a lower::Facts<'a>,
    payload: bool,
}

impl<T: 'static> Call<'_, T> {
    /// Returns the segments that the guest saw: spans into others would point at nothing it knows.
    fn seen<'s>(&self, segments: &'s [Segment]) -> &'s [Segment] {
        if self.payload { segments } else { &[] }
    }

    fn config(mut self, subject: &portcullis_model::ConfigSubject) -> Result<Answer, CallError> {
        let indices = self.interfaces.config.as_ref().ok_or(CallError::NotExported(GateName::Config))?;
        let guest = indices.load(&mut self.store, self.instance)?;
        let entry = lower::Entry::new(subject, self.payload);
        let verdict = guest.call_screen(&mut self.store, self.facts.view(), entry.view())?;
        Ok(Answer::Verdict(lift::verdict(verdict, self.seen(&subject.segments))?))
    }

    fn environment(mut self, subject: &portcullis_model::EnvironmentSubject) -> Result<Answer, CallError> {
        let indices = self.interfaces.environment.as_ref().ok_or(CallError::NotExported(GateName::Environment))?;
        let guest = indices.load(&mut self.store, self.instance)?;
        let entry = lower::Entry::new(&subject.config, self.payload);
        let offers = lower::Entry::offers(subject);
        let selection = guest.call_select(&mut self.store, self.facts.view(), entry.environment(subject, &offers))?;
        Ok(Answer::Selection(lift::selection(selection, self.seen(&subject.config.segments))?))
    }

    fn listing(mut self, batch: &portcullis_model::Batch) -> Result<Answer, CallError> {
        let indices = self.interfaces.listing.as_ref().ok_or(CallError::NotExported(GateName::Listing))?;
        let guest = indices.load(&mut self.store, self.instance)?;
        let texts = lower::Batch::new(batch, self.payload);
        let verdicts = texts.with(|view| guest.call_scan(&mut self.store, self.facts.view(), view))?;
        if verdicts.len() != batch.items.len() {
            return Err(Malformed::Count { verdicts: verdicts.len(), items: batch.items.len() }.into());
        }
        let verdicts = verdicts
            .into_iter()
            .zip(&batch.items)
            .map(|(verdict, item)| lift::verdict(verdict, self.seen(&item.segments)))
            .collect::<Result<_, _>>()?;
        Ok(Answer::Verdicts(verdicts))
    }

    fn call(mut self, subject: &portcullis_model::CallSubject) -> Result<Answer, CallError> {
        let indices = self.interfaces.call.as_ref().ok_or(CallError::NotExported(GateName::Call))?;
        let guest = indices.load(&mut self.store, self.instance)?;
        let call = lower::Call::new(subject, self.payload);
        let verdict = guest.call_authorize(&mut self.store, self.facts.view(), call.view())?;
        Ok(Answer::Verdict(lift::verdict(verdict, self.seen(&subject.segments))?))
    }

    fn result(mut self, subject: &portcullis_model::ResultSubject) -> Result<Answer, CallError> {
        let indices = self.interfaces.result.as_ref().ok_or(CallError::NotExported(GateName::Result))?;
        let guest = indices.load(&mut self.store, self.instance)?;
        let shown = lower::Shown::new(subject, self.payload);
        let descriptors = shown.descriptors();
        let verdict = guest.call_sanitize(&mut self.store, self.facts.view(), shown.view(&descriptors))?;
        Ok(Answer::Verdict(lift::verdict(verdict, self.seen(&subject.segments))?))
    }

    fn request(mut self, subject: &portcullis_model::RequestSubject) -> Result<Answer, CallError> {
        let indices = self.interfaces.request.as_ref().ok_or(CallError::NotExported(GateName::Request))?;
        let guest = indices.load(&mut self.store, self.instance)?;
        let request = lower::Request::new(subject, self.payload);
        let verdict = guest.call_authorize(&mut self.store, self.facts.view(), request.view())?;
        Ok(Answer::Verdict(lift::verdict(verdict, self.seen(&subject.segments))?))
    }
}

//! The traits that an author implements.

use serde::de::DeserializeOwned;

use crate::{
    ConfigureError, Description, Facts, Packs, Verdict, call_gate, config_gate, environment_gate, listing_gate,
    request_gate, result_gate,
};

/// A policy: what it is and how it is built.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy",
    label = "implement `portcullis_sdk::Policy` for this type",
    note = "`Policy` says what the policy is (`describe`) and builds it from settings and packs (`new`)"
)]
pub trait Policy: Sized + 'static {
    /// The settings of the operator. Empty settings become the default; give the type `#[serde(default, deny_unknown_fields)]`
    /// so that a misspelt key is refused instead of ignored.
    type Settings: DeserializeOwned + Default;

    /// Says what the policy is. Constant: the host asks before and after it configures.
    fn describe() -> Description;

    /// Builds the policy. Called once; memory is frozen afterwards and every evaluation starts from it, so build every table
    /// here and warm what is built lazily.
    ///
    /// # Errors
    ///
    /// Settings or packs that make no sense: the host then refuses the policy and keeps the one before.
    fn new(settings: Self::Settings, packs: &Packs) -> Result<Self, ConfigureError>;
}

/// Judges a server entry before it is saved, started or connected.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is exported as a config gate but does not implement `ConfigGate`",
    label = "implement `portcullis_sdk::ConfigGate` or leave it out of `export!`"
)]
pub trait ConfigGate: Policy {
    /// Judges one entry.
    fn screen(&self, facts: &Facts, entry: &config_gate::Entry) -> Verdict;
}

/// Selects which variables of the gateway's environment a stdio server does not get.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is exported as an environment gate but does not implement `EnvironmentGate`",
    label = "implement `portcullis_sdk::EnvironmentGate` or leave it out of `export!`"
)]
pub trait EnvironmentGate: Policy {
    /// Answers the names to withhold.
    fn select(&self, facts: &Facts, subject: &environment_gate::Subject) -> environment_gate::Selection;
}

/// Judges what a server offers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is exported as a listing gate but does not implement `ListingGate`",
    label = "implement `portcullis_sdk::ListingGate` or leave it out of `export!`"
)]
pub trait ListingGate: Policy {
    /// Judges a batch: one verdict an item, in order. Another number is a fault of the policy.
    fn scan(&self, facts: &Facts, batch: &listing_gate::Batch) -> Vec<Verdict>;
}

/// Judges what the client asks of a server.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is exported as a call gate but does not implement `CallGate`",
    label = "implement `portcullis_sdk::CallGate` or leave it out of `export!`"
)]
pub trait CallGate: Policy {
    /// Judges one call. Edits are no right at this gate: deny or ask instead.
    fn authorize(&self, facts: &Facts, call: &call_gate::Call) -> Verdict;
}

/// Judges everything on its way to the model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is exported as a result gate but does not implement `ResultGate`",
    label = "implement `portcullis_sdk::ResultGate` or leave it out of `export!`"
)]
pub trait ResultGate: Policy {
    /// Judges one result, error, message or batch of lines.
    fn sanitize(&self, facts: &Facts, subject: &result_gate::Subject) -> Verdict;
}

/// Judges what a server asks of the client.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is exported as a request gate but does not implement `RequestGate`",
    label = "implement `portcullis_sdk::RequestGate` or leave it out of `export!`"
)]
pub trait RequestGate: Policy {
    /// Judges one request.
    fn authorize(&self, facts: &Facts, request: &request_gate::Request) -> Verdict;
}

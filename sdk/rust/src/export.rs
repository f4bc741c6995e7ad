//! [`export!`](crate::export) and what it expands to.

use std::cell::OnceCell;
use std::fmt;
use std::thread::LocalKey;

use crate::{
    CallGate, ConfigGate, EnvironmentGate, Facts, ListingGate, Policy, RequestGate, ResultGate, Selection, Verdict,
    call_gate, config_gate, environment_gate, listing_gate, request_gate, result_gate,
};

/// A policy that was named in [`export!`](crate::export).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not exported",
    label = "name it in `portcullis_sdk::export!({Self}: …)`",
    note = "the fixture runner learns from `export!` at which gates the policy judges"
)]
pub trait Exported: Policy {
    /// The gates that were named.
    const GATES: Gates<Self>;

    /// Where the configured policy is kept.
    fn slot() -> &'static LocalKey<OnceCell<Self>>;
}

/// The function of a gate: policy, facts and subject to an answer.
type Judge<P, Subject, Answer> = fn(&P, &Facts, &Subject) -> Answer;

/// The gates at which a policy judges: the function of each, where it has one.
pub struct Gates<P> {
    /// The config gate.
    pub config: Option<Judge<P, config_gate::Entry, Verdict>>,
    /// The environment gate.
    pub environment: Option<Judge<P, environment_gate::Subject, Selection>>,
    /// The listing gate.
    pub listing: Option<Judge<P, listing_gate::Batch, Vec<Verdict>>>,
    /// The call gate.
    pub call: Option<Judge<P, call_gate::Call, Verdict>>,
    /// The result gate.
    pub result: Option<Judge<P, result_gate::Subject, Verdict>>,
    /// The request gate.
    pub request: Option<Judge<P, request_gate::Request, Verdict>>,
}

impl<P> Clone for Gates<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Gates<P> {}

impl<P> fmt::Debug for Gates<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Gates")
            .field("config", &self.config.is_some())
            .field("environment", &self.environment.is_some())
            .field("listing", &self.listing.is_some())
            .field("call", &self.call.is_some())
            .field("result", &self.result.is_some())
            .field("request", &self.request.is_some())
            .finish()
    }
}

impl<P> Gates<P> {
    /// No gate.
    pub const NONE: Self =
        Self { config: None, environment: None, listing: None, call: None, result: None, request: None };
}

/// Adds the config gate.
pub const fn config<P: ConfigGate>(mut gates: Gates<P>) -> Gates<P> {
    gates.config = Some(P::screen);
    gates
}

/// Adds the environment gate.
pub const fn environment<P: EnvironmentGate>(mut gates: Gates<P>) -> Gates<P> {
    gates.environment = Some(P::select);
    gates
}

/// Adds the listing gate.
pub const fn listing<P: ListingGate>(mut gates: Gates<P>) -> Gates<P> {
    gates.listing = Some(P::scan);
    gates
}

/// Adds the call gate.
pub const fn call<P: CallGate>(mut gates: Gates<P>) -> Gates<P> {
    gates.call = Some(P::authorize);
    gates
}

/// Adds the result gate.
pub const fn result<P: ResultGate>(mut gates: Gates<P>) -> Gates<P> {
    gates.result = Some(P::sanitize);
    gates
}

/// Adds the request gate.
pub const fn request<P: RequestGate>(mut gates: Gates<P>) -> Gates<P> {
    gates.request = Some(P::authorize);
    gates
}

/// Exports a policy at the named gates: `export!(MyPolicy: ResultGate, CallGate);`.
///
/// Once in a crate of type `cdylib`. The gates are `ConfigGate`, `EnvironmentGate`, `ListingGate`, `CallGate`, `ResultGate` and
/// `RequestGate`; the policy implements the trait of each. On other targets than `wasm32` nothing is exported, but the same is
/// checked, and [`testing::fixtures`](crate::testing::fixtures) learns the gates.
#[macro_export]
macro_rules! export {
    ($policy:ident: $($gate:ident),+ $(,)?) => {
        const _: () = {
            // On other targets nothing calls the policy, and the compiler would say that nobody builds it.
            let _ = <$policy as $crate::Policy>::new;
            impl $crate::export::Exported for $policy {
                const GATES: $crate::export::Gates<Self> = {
                    let gates = $crate::export::Gates::<Self>::NONE;
                    $(let gates = $crate::__portcullis_gate!($policy, gates, $gate);)+
                    gates
                };

                fn slot() -> &'static ::std::thread::LocalKey<::std::cell::OnceCell<Self>> {
                    ::std::thread_local! {
                        static POLICY: ::std::cell::OnceCell<$policy> = const { ::std::cell::OnceCell::new() };
                    }
                    &POLICY
                }
            }
        };

        #[cfg(target_arch = "wasm32")]
        $crate::bindings::base::export!($policy with_types_in $crate::bindings::base);
        $($crate::__portcullis_export!($policy, $gate);)+
    };
    ($policy:ident $(:)? $(,)?) => {
        ::core::compile_error!(::core::concat!(
            "`",
            ::core::stringify!($policy),
            "` names no gate: write `export!(",
            ::core::stringify!($policy),
            ": CallGate)` with one or more of ConfigGate, EnvironmentGate, ListingGate, CallGate, ResultGate, RequestGate",
        ));
    };
    ($($anything:tt)*) => {
        ::core::compile_error!(
            "expected `export!(MyPolicy: CallGate, ResultGate)`: the name of a type without path, a colon, and gates"
        );
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __portcullis_gate {
    ($policy:ident, $gates:ident, ConfigGate) => { $crate::export::config::<$policy>($gates) };
    ($policy:ident, $gates:ident, EnvironmentGate) => { $crate::export::environment::<$policy>($gates) };
    ($policy:ident, $gates:ident, ListingGate) => { $crate::export::listing::<$policy>($gates) };
    ($policy:ident, $gates:ident, CallGate) => { $crate::export::call::<$policy>($gates) };
    ($policy:ident, $gates:ident, ResultGate) => { $crate::export::result::<$policy>($gates) };
    ($policy:ident, $gates:ident, RequestGate) => { $crate::export::request::<$policy>($gates) };
    ($policy:ident, $gates:ident, $other:ident) => {
        ::core::compile_error!(::core::concat!(
            "`",
            ::core::stringify!($other),
            "` is not a gate; the gates are ConfigGate, EnvironmentGate, ListingGate, CallGate, ResultGate, RequestGate",
        ))
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "wasm32")]
macro_rules! __portcullis_export {
    ($policy:ident, ConfigGate) => { $crate::bindings::config::export!($policy with_types_in $crate::bindings::config); };
    ($policy:ident, EnvironmentGate) => {
        $crate::bindings::environment::export!($policy with_types_in $crate::bindings::environment);
    };
    ($policy:ident, ListingGate) => { $crate::bindings::listing::export!($policy with_types_in $crate::bindings::listing); };
    ($policy:ident, CallGate) => { $crate::bindings::call::export!($policy with_types_in $crate::bindings::call); };
    ($policy:ident, ResultGate) => { $crate::bindings::result::export!($policy with_types_in $crate::bindings::result); };
    ($policy:ident, RequestGate) => { $crate::bindings::request::export!($policy with_types_in $crate::bindings::request); };
    // What is no gate was reported already.
    ($policy:ident, $other:ident) => {};
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(target_arch = "wasm32"))]
macro_rules! __portcullis_export {
    ($policy:ident, $gate:ident) => {};
}

//! The generated `Guest` traits, implemented for every exported policy.

use crate::bindings::base::exports::portcullis::policy::lifecycle;
use crate::export::Exported;
use crate::{
    CallGate, ConfigGate, ConfigureError, Description, EnvironmentGate, Facts, ListingGate, RequestGate, ResultGate,
    Selection, Verdict, bindings, call_gate, config_gate, configure, environment_gate, listing_gate, request_gate,
    result_gate,
};

/// Runs a function with the configured policy.
///
/// # Panics
///
/// The host evaluates before it configured: a fault of the host, which it sees as a trap.
fn with<P: Exported, Answer>(function: impl FnOnce(&P) -> Answer) -> Answer {
    P::slot().with(|cell| match cell.get() {
        Some(policy) => function(policy),
        None => panic!("evaluated before configure"),
    })
}

impl<P: Exported> lifecycle::Guest for P {
    fn describe() -> Description {
        P::describe()
    }

    fn configure(settings: String, packs: Vec<lifecycle::Pack>) -> Result<(), ConfigureError> {
        let policy = configure::build::<P>(&settings, packs)?;
        P::slot()
            .with(|cell| cell.set(policy))
            .map_err(|_already| ConfigureError::whole("configure was called a second time"))
    }
}

impl<P: Exported + ConfigGate> bindings::config::exports::portcullis::policy::config_gate::Guest for P {
    fn screen(facts: Facts, entry: config_gate::Entry) -> Verdict {
        with(|policy: &P| ConfigGate::screen(policy, &facts, &entry))
    }
}

impl<P: Exported + EnvironmentGate> bindings::environment::exports::portcullis::policy::environment_gate::Guest for P {
    fn select(facts: Facts, subject: environment_gate::Subject) -> Selection {
        with(|policy: &P| EnvironmentGate::select(policy, &facts, &subject))
    }
}

impl<P: Exported + ListingGate> bindings::listing::exports::portcullis::policy::listing_gate::Guest for P {
    fn scan(facts: Facts, batch: listing_gate::Batch) -> Vec<Verdict> {
        with(|policy: &P| ListingGate::scan(policy, &facts, &batch))
    }
}

impl<P: Exported + CallGate> bindings::call::exports::portcullis::policy::call_gate::Guest for P {
    fn authorize(facts: Facts, call: call_gate::Call) -> Verdict {
        with(|policy: &P| CallGate::authorize(policy, &facts, &call))
    }
}

impl<P: Exported + ResultGate> bindings::result::exports::portcullis::policy::result_gate::Guest for P {
    fn sanitize(facts: Facts, subject: result_gate::Subject) -> Verdict {
        with(|policy: &P| ResultGate::sanitize(policy, &facts, &subject))
    }
}

impl<P: Exported + RequestGate> bindings::request::exports::portcullis::policy::request_gate::Guest for P {
    fn authorize(facts: Facts, request: request_gate::Request) -> Verdict {
        with(|policy: &P| RequestGate::authorize(policy, &facts, &request))
    }
}

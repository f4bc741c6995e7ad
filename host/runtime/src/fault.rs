//! From what the engine reports to how the policy broke.

use std::str::Utf8Error;

use portcullis_bindings::CallError;
use portcullis_gates::Fault;
use wasmtime::{PoolConcurrencyLimitError, Trap};

use crate::state::{DeadlineExceeded, MemoryExceeded};

/// Returns how a policy broke when it was called.
pub(crate) fn of_call(error: &CallError) -> Fault {
    match error {
        CallError::Guest(error) => of_guest(error),
        CallError::Malformed(malformed) => Fault::Malformed(malformed.to_string()),
        CallError::NotExported(_) | _ => Fault::Malformed(error.to_string()),
    }
}

/// Returns how a guest broke, by the types of what the engine reports.
pub(crate) fn of_guest(error: &wasmtime::Error) -> Fault {
    if let Some(DeadlineExceeded { limit }) = error.downcast_ref() {
        return Fault::Deadline { limit: *limit };
    }
    if let Some(MemoryExceeded { limit }) = error.downcast_ref() {
        return Fault::Memory { limit: *limit };
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return Fault::Trap(trap.to_string());
    }
    if error.is::<wasmtime_wasi::I32Exit>() {
        return Fault::Trap("it ended its own process".to_owned());
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Fault::QueueFull;
    }
    // What is left arises while an answer is read. The engine reports what is wrong with it as plain texts or as
    // invalid UTF-8; its error for an answer that is too large has a type that it keeps to itself.
    if error.is::<String>() || error.is::<&'static str>() || error.is::<Utf8Error>() {
        return Fault::Malformed(error.root_cause().to_string());
    }
    Fault::Output
}

/// Returns how a policy broke when an instance of it was made.
pub(crate) fn of_instantiation(error: &wasmtime::Error) -> Fault {
    let fault = of_guest(error);
    if matches!(fault, Fault::Malformed(_) | Fault::Output) {
        return Fault::Instantiate(error.root_cause().to_string());
    }
    fault
}

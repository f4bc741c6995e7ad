//! From a core module to a component.

use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Encodes a core module that carries the types of its world, as bindings generators leave them in it. No adapter: what is not in
/// the world is no import.
pub(super) fn component(module: &[u8]) -> Result<Vec<u8>, Failure> {
    let encode = || {
        let mut encoder = wit_component::ComponentEncoder::default();
        encoder.validate(true).module(module)?;
        encoder.encode()
    };
    encode().or_exit(Exit::Failed, "encoding the component").map_err(|failure| {
        failure.hint("the module may import only what its world does: no standard library that wants a system")
    })
}

//! What `bindgen!` makes of the contract. Nothing outside of this crate sees it.

#![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/v0.1",
    world: "portcullis:policy/policy",
    // Texts go from the host's own strings straight into the guest's memory: one copy, not two.
    ownership: Borrowing { duplicate_if_necessary: true },
    imports: { default: trappable },
});

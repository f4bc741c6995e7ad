//! What `bindgen!` makes of the draft. Nothing outside of its module sees it.

#![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/v0.2-draft",
    world: "portcullis:policy/call-policy",
    ownership: Borrowing { duplicate_if_necessary: true },
    imports: { default: trappable },
});

//! What was cleared is not rewritten, taken apart or doubled.

use portcullis_gates::{Call, Cleared};

fn rewrite(mut cleared: Cleared<Call>) {
    cleared.get().name.clear();
    cleared.value.name.clear();
}

fn take_apart(cleared: Cleared<Call>) -> Call {
    *cleared.get()
}

fn double(cleared: &Cleared<Call>) -> Cleared<Call> {
    cleared.clone()
}

fn main() {}

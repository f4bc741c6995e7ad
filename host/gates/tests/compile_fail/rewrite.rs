//! What was cleared is neither rewritten nor taken apart.

use portcullis_gates::{Call, Cleared};

fn rewrite(cleared: Cleared<Call>) {
    cleared.get().name.clear();
}

fn take_apart(cleared: Cleared<Call>) -> Call {
    *cleared.get()
}

fn main() {}

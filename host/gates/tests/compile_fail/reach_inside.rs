//! What was cleared is not reached behind its back.

use portcullis_gates::{Call, Cleared};

fn reach_inside(mut cleared: Cleared<Call>) {
    cleared.value.name.clear();
}

fn main() {}

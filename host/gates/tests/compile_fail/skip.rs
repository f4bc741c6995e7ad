//! An effect that takes a cleared call is not fed with one that no gate saw.

use portcullis_gates::{Call, Cleared};

fn send(_call: &Cleared<Call>) {}

fn skip(call: Call) {
    send(&call);
}

fn main() {}

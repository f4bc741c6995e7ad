//! A gate is implemented for a type that is no policy.

use portcullis_sdk::{CallGate, Facts, Verdict, call_gate::Call};

struct Mine;

impl CallGate for Mine {
    fn authorize(&self, _facts: &Facts, _call: &Call) -> Verdict {
        Verdict::allow()
    }
}

portcullis_sdk::export!(Mine: CallGate);

fn main() {}

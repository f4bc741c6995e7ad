//! A gate is misspelt.

use portcullis_sdk::{ConfigureError, Description, Packs, Policy};

struct Mine;

impl Policy for Mine {
    type Settings = ();

    fn describe() -> Description {
        Description::new("mine", "1.0.0", "Does nothing.")
    }

    fn new(_settings: (), _packs: &Packs) -> Result<Self, ConfigureError> {
        Ok(Self)
    }
}

portcullis_sdk::export!(Mine: CallGates);

fn main() {}

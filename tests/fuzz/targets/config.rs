//! A config file: read without a panic whatever it is, and every diagnostic has a place and a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_config::{Config, Surroundings};
use portcullis_model::Origin;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let surroundings = Surroundings::new(|name| (name == "SET").then(|| "a value".to_owned()));
    let config = Config::parse(text, "config.yaml", Origin::ConfigFile, &surroundings);
    for diagnostic in &config.diagnostics {
        let shown = diagnostic.to_string();
        assert!(shown.contains("config.yaml"), "a diagnostic without its file: {shown}");
    }
});

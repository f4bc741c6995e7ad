//! The lossless value: what is read is written so that it is read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_model::json::parse;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = parse(bytes) else { return };
    let written = value.to_json();
    let again = parse(written.as_bytes()).expect("what we wrote is JSON");
    assert_eq!(value, again, "a value changed on its way: {written}");
    let canonical = value.to_canonical();
    let reread = parse(canonical.as_bytes()).expect("the canonical form is JSON");
    assert_eq!(canonical, reread.to_canonical(), "the canonical form of it is another");
});

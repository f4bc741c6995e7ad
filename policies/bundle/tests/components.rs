//! What each component of the bundle exports and imports.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use wit_component::DecodedWasm;

#[test]
fn each_component_imports_and_exports_what_was_reviewed() {
    let mut text = String::new();
    for policy in portcullis_bundle::policies() {
        let DecodedWasm::Component(resolve, world) = wit_component::decode(policy.wasm).unwrap() else {
            panic!("{} is no component", policy.name);
        };
        let world = &resolve.worlds[world];
        let mut imports: Vec<String> = world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
        let mut exports: Vec<String> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
        imports.sort();
        exports.sort();
        writeln!(text, "{}\n  imports {}\n  exports {}", policy.name, imports.join(" "), exports.join(" ")).unwrap();
        println!("{} {} bytes", policy.name, policy.wasm.len());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn each_digest_is_that_of_the_embedded_bytes() {
    for policy in portcullis_bundle::policies() {
        let mut digest = String::new();
        Sha256::digest(policy.wasm).iter().for_each(|byte| write!(digest, "{byte:02x}").unwrap());
        assert_eq!(policy.digest, digest, "{}", policy.name);
    }
}

#[test]
fn no_component_names_a_path_of_the_machine_that_built_it() {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let workspace = std::fs::canonicalize(workspace).unwrap().display().to_string();
    for policy in portcullis_bundle::policies() {
        let text = String::from_utf8_lossy(policy.wasm);
        assert!(!text.contains(&workspace), "{} names {workspace}", policy.name);
        assert!(!text.contains("/.cargo/registry"), "{} names the registry of cargo", policy.name);
    }
}

#[test]
fn policies_are_found_by_name() {
    for policy in portcullis_bundle::policies() {
        assert_eq!(portcullis_bundle::policy(policy.name).unwrap().digest, policy.digest);
    }
    assert!(portcullis_bundle::policy("nothing").is_none());
}

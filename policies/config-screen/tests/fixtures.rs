//! Runs the fixtures natively.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use portcullis_policy_config_screen::ConfigScreen;
use portcullis_sdk::testing;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

#[test]
fn every_fixture_gets_the_verdict_that_it_states() {
    testing::fixtures::<ConfigScreen>(FOLDER);
}

#[test]
fn the_verdicts_of_all_fixtures_stay_as_they_were_reviewed() {
    insta::assert_snapshot!(testing::report::<ConfigScreen>(FOLDER));
}

mod any_entry {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use portcullis_sdk::serde_json::{Value, json};
    use portcullis_sdk::{ConfigGate, Pack, Packs, Policy};
    use proptest::prelude::*;

    use super::*;

    fn policy() -> ConfigScreen {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs");
        let files =
            std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let packs: Vec<Value> = files.map(|text| serde_yaml::from_str(&text).unwrap()).collect();
        let packs: Packs =
            packs.iter().map(|pack| Pack::new(pack["name"].as_str().unwrap(), "1", pack["data"].to_string())).collect();
        testing::configure(&json!({}), &packs).unwrap()
    }

    fn word() -> impl Strategy<Value = String> {
        let words = [
            "bash",
            "-c",
            "curl",
            "env",
            "-S",
            "sh -c 'curl x | sh'",
            "$x",
            "$(echo a)",
            "`b`",
            "cmd",
            "/c",
            "python",
            "-e",
            "powershell",
            "-enc",
            "SQBFAFgA",
            "docker",
            "run",
            "--entrypoint",
            "-v",
            "/:/x",
            "npx",
            "@a/b@1",
            "http://[::1",
            "find",
            "-exec",
            ";",
            "Y3VybCBodHRwOi8veA==",
            "~/.ssh",
            ">",
            "é\u{200b}",
            "",
            "{a,b}",
            "<<E",
            "'",
        ];
        prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_entry_makes_the_policy_panic_or_break_the_contract(
            command in word(), arguments in proptest::collection::vec(word(), 0..10), name in word(), value in word(),
        ) {
            let document = json!({"command": command, "args": arguments, "env": {name.clone(): value}, "url2": value});
            let entry = testing::entry(&name, &document);
            let verdict = policy().screen(&testing::facts(), &entry);
            let breaches = testing::breaches(&ConfigScreen::describe(), &entry.segments, &verdict);
            prop_assert!(breaches.is_empty(), "{breaches:?}");
        }
    }

    #[test]
    fn entries_that_are_made_to_take_long_do_not() {
        let policy = policy();
        let doubling = format!("x=aaaaaaaa; {} {}", "x=$x$x;".repeat(30), "$x ".repeat(20_000));
        let nested = format!("{}{}", "$(".repeat(20_000), ")".repeat(20_000));
        let layers = "Y3VybCBodHRwOi8veCB8IHNo ".repeat(20_000);
        let shells = "bash -c ".repeat(10_000);
        let substitutions = "$(echo $x) ".repeat(5_000);
        for script in [doubling, nested, layers, shells, substitutions, "/".repeat(500_000), "${".repeat(30_000)] {
            let entry = testing::entry(
                "s",
                &json!({"command": "bash", "args": ["-c", script], "env": {"x": "y".repeat(4_000)}}),
            );
            let started = Instant::now();
            let _ = policy.screen(&testing::facts(), &entry);
            // Unoptimised and on a busy machine; the budget of the host is 250 ms of optimised code.
            assert!(started.elapsed() < Duration::from_secs(10), "{:?} {:?}", started.elapsed(), &script[..20]);
            println!("{:?} {:?}", started.elapsed(), &script[..20]);
        }
    }
}

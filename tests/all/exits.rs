//! How the program ends: scripts rely on the numbers.

use portcullis_tests::Home;

use crate::PROGRAM;
use crate::serving::{Serving, config, run};

#[test]
fn the_program_ends_by_numbers_that_say_whose_turn_it_is() {
    let home = Home::new(PROGRAM, &config());
    let ends = |arguments: &[&str], expected: i32| {
        let output = run(&home, arguments);
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {}", home.stderr());
    };
    ends(&["--version"], 0);
    ends(&["check"], 0);
    ends(&["frobnicate"], 2);
    ends(&["serve", "--address", "nowhere"], 2);
    ends(&["serve", "--public-url", "http://localhost.evil.example"], 2);
    ends(&["check", "--config", "/nonexistent/config.yaml"], 3);
    let file = home.path().join("file");
    std::fs::write(&file, "").expect("the file is written");
    ends(&["token", "show", "--home", file.to_str().expect("a plain path")], 4);
    let bad = home.path().join("bad.yaml");
    std::fs::write(&bad, "mcp_servers: {one: {command: []}}\n").expect("the file is written");
    ends(&["check", "--config", bad.to_str().expect("a plain path")], 1);
    ends(&["serve", "--config", bad.to_str().expect("a plain path")], 3);
    let serving = Serving::start(&home, &[]);
    ends(&["serve", "--address", &serving.address], 6);
}

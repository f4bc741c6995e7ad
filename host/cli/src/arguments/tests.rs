use std::fmt::Write as _;

use clap::{CommandFactory as _, Parser as _};

use super::{Arguments, Command, View, Wrap};

fn parse(line: &[&str]) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(std::iter::once("portcullis").chain(line.iter().copied()))
}

#[test]
fn the_definition_of_the_command_line_holds_together() {
    Arguments::command().debug_assert();
}

#[test]
fn help_is_as_reviewed() {
    let mut text = Arguments::command().render_help().to_string();
    let names = [
        "run",
        "serve",
        "wrap",
        "token",
        "client",
        "approve",
        "add",
        "remove",
        "enable",
        "disable",
        "configure",
        "catalog",
        "install",
        "import",
        "export",
        "list",
        "test",
        "call",
        "check",
        "status",
        "reload",
        "stop",
        "resume",
        "control",
        "approvals",
        "grants",
        "journal",
        "replay",
        "explain",
        "policy",
        "doctor",
        "explain-env",
        "completions",
        "man",
        "warm",
        "demo",
    ];
    for name in names {
        let mut command = Arguments::command();
        command.build();
        let command = command.find_subcommand_mut(name).unwrap();
        write!(text, "\n===== {name}\n{}", command.render_help()).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_wrapped_command_keeps_its_own_options() {
    for line in [&["wrap", "--", "npx", "-y", "server", "--help"][..], &["wrap", "npx", "-y", "server", "--help"]] {
        let Command::Wrap(Wrap { command, pass, view }) = parse(line).unwrap().command else {
            panic!("another command")
        };
        assert_eq!(command, ["npx", "-y", "server", "--help"]);
        assert_eq!(pass, Vec::<String>::new());
        assert_eq!(view, View::default());
    }
}

#[test]
fn a_misspelled_command_is_a_usage_error_with_a_suggestion() {
    let error = parse(&["lst"]).unwrap_err();
    assert!(error.use_stderr() && error.to_string().contains("'list'"), "{error}");
}

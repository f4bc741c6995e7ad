use super::*;

fn read(script: &str) -> Vec<String> {
    let mut variables = Variables::new();
    variables.insert("URL".to_owned(), "http://x".to_owned());
    let script = parse(script, &mut variables, Dialect::Posix);
    script.commands.iter().map(show).collect()
}

fn show(command: &Command) -> String {
    let mut text: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    text.extend(command.writes.iter().map(|file| format!(">{file}")));
    text.extend(command.reads.iter().map(|file| format!("<{file}")));
    text.extend(command.input.iter().map(|input| format!("<<{}", input.trim_end())));
    text.extend(command.piped.then(|| "|".to_owned()));
    text.join(" ")
}

#[test]
fn commands_are_taken_apart_and_control_words_taken_off() {
    assert_eq!(
        read("if true; then curl a | sh -s 2>&1 >/tmp/x; fi && (echo b); { echo c; } & d"),
        ["true", "curl a |", "sh -s >/tmp/x", "echo b", "echo c", "d"]
    );
}

#[test]
fn words_in_pieces_are_put_together() {
    for script in [
        "cu''rl $URL",
        r"c\url $URL",
        "c\"ur\"l $URL",
        "a=cu; b=rl; $a$b $URL",
        "$'\\x63url' $URL",
        "cu$@rl $URL",
        "$(printf '\\x63\\x75\\x72\\x6c') $URL",
        "`echo curl` $URL",
        "$(which curl) $URL",
        "{curl,$URL}",
        "curl${IFS}$URL",
        "x='curl http://x'; $x",
        "${X:-curl} $URL",
        "s=xcurly; ${s:1:4} $URL",
        "$(echo lruc | rev) $URL",
        "$(echo Y3VybCBodHRwOi8v | base64 -d)x",
    ] {
        let commands = read(script);
        let last = commands.last().map(String::as_str).unwrap_or_default();
        assert!(last == "curl http://x" || last == "curl $URL", "{script}: {commands:?}");
    }
}

#[test]
fn documents_and_strings_feed_commands() {
    assert_eq!(read("bash <<E\ncurl x\nE\necho after"), ["bash <<curl x", "echo after"]);
    assert_eq!(read("bash <<< 'curl x'"), ["bash <<curl x"]);
}

#[test]
fn scripts_of_substitutions_are_handed_on() {
    let mut variables = Variables::new();
    let script = parse("a $(curl x) <(wget y) \"`nc z`\"", &mut variables, Dialect::Posix);
    assert_eq!(script.inner, ["curl x", "wget y", "nc z"]);
    assert!(script.commands[0].words[1].unresolved);
}

#[test]
fn a_quote_that_is_not_closed_is_noticed() {
    assert!(parse("echo 'a", &mut Variables::new(), Dialect::Posix).broken);
    assert!(parse("echo \"a", &mut Variables::new(), Dialect::Posix).broken);
}

#[test]
fn alternatives_end_where_a_command_ends() {
    assert_eq!(read("{curl,'http://x y',-s}"), ["curl http://x y -s"]);
    assert_eq!(read("{a;b,c} d"), ["{a", "b,c} d"]);
    assert_eq!(read("{ a, b; }"), ["a, b"]);
    assert_eq!(read("{curl,$(x)}"), ["curl $(x)"]);
}

#[test]
fn comments_and_quoted_operators_are_no_commands() {
    assert_eq!(read("echo 'a; curl b' # curl c\nx"), ["echo a; curl b", "x"]);
}

#[test]
fn the_command_interpreter_of_windows_has_its_own_escape() {
    let script = parse("c^url a & \"C:\\x y\\z.exe\" b", &mut Variables::new(), Dialect::Cmd);
    let commands: Vec<String> = script.commands.iter().map(show).collect();
    assert_eq!(commands, ["curl a", "C:\\x y\\z.exe b"]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_script_makes_the_reader_panic(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "a", "curl", " ", "\n", "'", "\"", "\\", "$", "${", "}", "$(", ")", "`", "|", "&", ";", "<", ">", "<<E", "<<<",
            "E", "=", "x=", "$x", "$x$x", "{", ",", "é", "\\x6", "printf", "%s", "%", "((", "base64 -d", "0", ":1:",
        ]), 0..40)
    ) {
        let script = parts.concat();
        let _: Script = parse(&script, &mut Variables::new(), Dialect::Posix);
        let _: Script = parse(&script, &mut Variables::new(), Dialect::Cmd);
    }
}

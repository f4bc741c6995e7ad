use proptest::prelude::*;

use super::*;

fn holds(constraint: &[&str], arguments: &str) -> bool {
    Constraint::parse(constraint.iter().copied()).unwrap().holds(&parse_str(arguments).unwrap())
}

#[test]
fn without_clauses_it_holds_for_all_arguments() {
    assert!(holds(&[], "{}") && holds(&[], r#"{"path":"/etc/passwd"}"#));
}

#[test]
fn a_value_is_compared_as_json_and_a_text_that_is_no_json_as_a_text() {
    assert!(holds(&["/to=ada@example.org"], r#"{"to":"ada@example.org"}"#));
    assert!(!holds(&["/to=ada@example.org"], r#"{"to":"ada@example.org.evil"}"#));
    assert!(holds(&["/n=5"], r#"{"n":5.0}"#), "numbers are compared in canonical form");
    assert!(!holds(&["/n=5"], r#"{"n":"5"}"#));
    assert!(holds(&[r#"/n="5""#], r#"{"n":"5"}"#));
    assert!(holds(&[r#"/o={"b":1,"a":2}"#], r#"{"o":{"a":2,"b":1}}"#));
    assert!(!holds(&["/to=x"], "{}"), "what is missing is no value");
    assert!(holds(&["=[1]"], "[1]") && !holds(&["=[1]"], "[1,2]"));
}

#[test]
fn several_values_of_one_pointer_are_one_of_them_and_several_pointers_are_all() {
    let constraint = ["/to=ada", "/to=grace", "/kind=note"];
    assert!(holds(&constraint, r#"{"to":"grace","kind":"note"}"#));
    assert!(!holds(&constraint, r#"{"to":"eve","kind":"note"}"#));
    assert!(!holds(&constraint, r#"{"to":"ada","kind":"mail"}"#));
}

#[test]
fn a_path_prefix_compares_components_and_nothing_leads_out_of_it() {
    let inside = [
        "/home/me/notes",
        "/home/me/notes/",
        "/home/me/notes/a/b.txt",
        "/home/./me//notes/x",
        "/home/me/notes/.hidden",
    ];
    for path in inside {
        assert!(holds(&["/path^=/home/me/notes"], &format!(r#"{{"path":"{path}"}}"#)), "{path}");
    }
    let outside = [
        "/home/me/notes-of-others",
        "/home/me/notes/../secrets",
        "/home/me/notes/..",
        "/home/me/notes/a/../../secrets",
        "/home/me",
        "home/me/notes/x",
        "//home/me/notes/x",
        "/home/me/notes/%2e%2e/secrets",
        "/home/me/notes/..\\\\secrets",
        "/home/me/notes/$HOME/.ssh",
        "/home/me/notes\\u0000/x",
        "/HOME/me/notes/x",
        "",
    ];
    for path in outside {
        assert!(!holds(&["/path^=/home/me/notes"], &format!(r#"{{"path":"{path}"}}"#)), "{path}");
    }
    assert!(!holds(&["/path^=/home/me"], r#"{"path":["/home/me/x"]}"#), "only a text is a path");
    assert!(holds(&["/path^=/"], r#"{"path":"/etc"}"#) && !holds(&["/path^=/"], r#"{"path":"etc"}"#));
    assert!(holds(&["/url^=https://one.example/a"], r#"{"url":"https://one.example/a/b?c=d"}"#));
    assert!(!holds(&["/url^=https://one.example"], r#"{"url":"https://one.example.evil.example/"}"#));
    assert!(!holds(&["/url^=https://one.example"], r#"{"url":"https://one.example@evil.example/"}"#));
}

#[test]
fn what_is_no_constraint_is_refused() {
    let error = |text: &str| Constraint::parse([text]).unwrap_err();
    assert_eq!(error("path"), ConstraintError::Form("path".to_owned()));
    assert_eq!(error("path=/x"), ConstraintError::Form("path=/x".to_owned()));
    assert_eq!(error("/path^=/a/../b"), ConstraintError::Path("/a/../b".to_owned()));
    assert_eq!(error("/path^="), ConstraintError::Path(String::new()));
    assert_eq!(error(&format!("/path={}", "x".repeat(5_000))), ConstraintError::TooLarge);
    let many: Vec<String> = (0..33).map(|index| format!("/{index}=x")).collect();
    assert_eq!(Constraint::parse(many.iter().map(String::as_str)), Err(ConstraintError::TooLarge));
}

#[test]
fn it_is_read_back_as_it_was_and_never_with_a_clause_less() {
    let constraint = Constraint::parse(["/a=1", "/b=x", "/b=[2]", "/c^=/d"]).unwrap();
    assert_eq!(Constraint::from_value(&constraint.to_value()), Some(constraint.clone()));
    assert_eq!(constraint.to_string(), r#"/a=1, /b="x" or [2], /c^=/d"#);
    for text in [
        r#"[{"pointer":"/a"}]"#,
        r#"[{"pointer":"/a","below":"/x"}]"#,
        r#"[{"pointer":"/a","equals":1,"one_of":[2]}]"#,
        r#"[{"equals":1}]"#,
        r#"[{"pointer":"/a","path_prefix":"/x/.."}]"#,
        "{}",
    ] {
        assert_eq!(Constraint::from_value(&parse_str(text).unwrap()), None, "{text}");
    }
}

proptest! {
    /// Whatever is appended to a prefix, what is accepted resolves to a place below it.
    #[test]
    fn a_path_that_is_accepted_resolves_below_its_prefix(rest in "[a./%\\\\ ]{0,12}") {
        let path = format!("/home/me/{rest}");
        if is_below(&path, "/home/me") {
            let mut resolved: Vec<&str> = Vec::new();
            for name in path.split('/').filter(|name| !name.is_empty()) {
                match name {
                    "." => {}
                    ".." => { resolved.pop(); }
                    name => resolved.push(name),
                }
            }
            prop_assert!(resolved.starts_with(&["home", "me"]), "{path}");
        }
    }
}

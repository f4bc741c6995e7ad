use super::*;
use crate::tree;

fn surroundings() -> Surroundings {
    Surroundings::new(|name| match name {
        "TOKEN" => Some("s3cr3t".to_owned()),
        "EMPTY" => Some(String::new()),
        "NESTED" => Some("${TOKEN}".to_owned()),
        "LONG" => Some("x".repeat(1024 * 1024)),
        _ => None,
    })
    .with_home("/home/u")
    .with_workspace("/srv/project")
}

fn apply(text: &str) -> (String, Vec<String>) {
    let mut node = tree::parse(text).root.expect("a tree");
    let mut sink = Sink::new("c.yaml");
    Interpolation::new(&surroundings()).apply(&mut node, &KeyPath::default(), &mut sink);
    (node.to_value().to_json(), sink.finish().iter().map(ToString::to_string).collect())
}

#[test]
fn variables_and_places_are_put_into_values() {
    let (value, diagnostics) = apply(
        "{a: 'Bearer ${TOKEN}', b: '${env: TOKEN }', c: ['${userHome}/x', '${workspaceFolderBasename}'], d: 'a${/}b'}",
    );
    assert_eq!(value, r#"{"a":"Bearer s3cr3t","b":"s3cr3t","c":["/home/u/x","project"],"d":"a/b"}"#);
    assert!(diagnostics.is_empty());
}

#[test]
fn keys_are_left_alone_and_values_are_not_read_again() {
    assert_eq!(apply("{'${TOKEN}': '${NESTED}'}").0, r#"{"${TOKEN}":"${TOKEN}"}"#);
}

#[test]
fn an_unset_variable_is_an_error_that_names_it_and_its_key() {
    let (_, diagnostics) = apply("a:\n  - x\n  - 'Bearer ${NOPE}'\n");
    assert_eq!(diagnostics.len(), 1);
    assert!(diagnostics[0].contains("c.yaml:3:5 a[1]: the variable `NOPE` is not set"), "{diagnostics:?}");
}

#[test]
fn a_set_but_empty_variable_is_empty_and_a_default_stands_in_for_both() {
    let (value, diagnostics) = apply("['a${EMPTY}b', '${EMPTY:-d}', '${NOPE:-e}', '${NOPE:-}']");
    assert_eq!(value, r#"["ab","d","e",""]"#);
    assert!(diagnostics.is_empty());
}

#[test]
fn an_open_or_empty_placeholder_is_text() {
    let (value, diagnostics) = apply("['${', '${}', 'a ${TOKEN']");
    assert_eq!(value, r#"["${","${}","a ${TOKEN"]"#);
    assert!(diagnostics.is_empty());
}

#[test]
fn variables_can_not_grow_a_config_without_bound() {
    let (_, diagnostics) = apply("['${LONG}', '${LONG}', '${LONG}', '${LONG}', '${LONG}', '${LONG}']");
    assert!(diagnostics[0].contains("variables add more than"), "{diagnostics:?}");
}

#[test]
fn a_text_with_a_variable_in_it_is_shown_nowhere() {
    let mut node = tree::parse("'${TOKEN}'").root.expect("a tree");
    Interpolation::new(&surroundings()).apply(&mut node, &KeyPath::default(), &mut Sink::new("c"));
    assert_eq!(node.shown(), "a text with a variable in it");
}

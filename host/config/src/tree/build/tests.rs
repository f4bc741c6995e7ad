use super::*;
use crate::diagnostic::Diagnostic;
use crate::sink::Sink;

fn json(text: &str) -> String {
    parse(text).root.expect("a tree").to_value().to_json()
}

fn problems(text: &str) -> Vec<String> {
    let mut sink = Sink::new("c.yaml");
    for problem in parse(text).problems {
        sink.push(&problem.path, problem.place, problem.mistake);
    }
    sink.finish().iter().map(Diagnostic::to_string).collect()
}

#[test]
fn yaml_becomes_the_values_it_means() {
    assert_eq!(json("a: 1\nb: [x, true, ~, 1.50]\nc: 'true'\n"), r#"{"a":1,"b":["x",true,null,1.50],"c":"true"}"#);
}

#[test]
fn json_is_read_as_it_stands_surrogate_pairs_and_tabs_included() {
    let text = "{\n\t\"a\": \"\\ud83d\\ude00\\/\\u00e9\",\n\t\"b\": [1, 2.0],\n\t\"c\": null\n}";
    assert_eq!(json(text), r#"{"a":"😀/é","b":[1,2.0],"c":null}"#);
}

#[test]
fn a_key_written_twice_is_reported_where_it_stands() {
    let found = problems("a:\n  b: 1\n  c: 2\n  b: 3\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("error[duplicate-key] c.yaml:4:3 a.b: this key is written twice"), "{found:?}");
}

#[test]
fn aliases_and_merges_stand_for_what_they_name() {
    assert_eq!(
        json("x: &x {a: 1, b: 2}\ny: *x\nz:\n  <<: *x\n  b: 3\n"),
        r#"{"x":{"a":1,"b":2},"y":{"a":1,"b":2},"z":{"b":3,"a":1}}"#
    );
}

#[test]
fn an_alias_bomb_ends_at_the_bound() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}", level - 1);
        let line = format!("a{level}: &a{level} [{}]\n", vec![inner; 10].join(", "));
        text.push_str(&line);
    }
    assert!(parse(&text).root.is_none());
    assert!(problems(&text)[0].contains("aliases included"));
}

#[test]
fn copies_of_a_long_text_count_as_much_as_they_hold() {
    let text = format!("a: &a '{}'\nb: [{}]\n", "x".repeat(500_000), vec!["*a"; 100].join(", "));
    assert!(parse(&text).root.is_none());
}

#[test]
fn depth_and_size_end_at_the_bound() {
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    assert!(problems(&deep)[0].contains("nests deeper"));
    assert!(parse(&"[".repeat(200_000)).root.is_none());
    let large = "a".repeat(MOST_BYTES + 1);
    assert!(problems(&large)[0].contains("bytes"));
}

#[test]
fn an_alias_inside_its_own_value_is_refused() {
    assert!(!problems("a: &a [*a]\n").is_empty());
}

#[test]
fn syntax_errors_name_line_and_column() {
    let found = problems("a: [1, 2\nb: 3\n");
    assert!(found[0].starts_with("error[syntax] c.yaml:"), "{found:?}");
}

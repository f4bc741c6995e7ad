use super::*;

fn filter(include: Option<&[&str]>, exclude: &[&str]) -> Filter {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    Filter::new(&ToolFilter { include: include.map(owned), exclude: owned(exclude), ..ToolFilter::default() })
}

#[test]
fn nothing_set_keeps_all_and_an_empty_include_keeps_nothing() {
    assert!(filter(None, &[]).keeps("anything"));
    assert!(!filter(Some(&[]), &[]).keeps("anything"));
}

#[test]
fn include_wins_over_exclude() {
    let filter = filter(Some(&["read_*"]), &["read_file"]);
    assert!(filter.keeps("read_file"));
    assert!(!filter.keeps("write_file"));
}

#[test]
fn globs_are_those_of_file_name_matching_with_case() {
    for (pattern, name, expected) in [
        ("read_*", "read_/a/b", true),
        ("*", "", true),
        ("r?ad", "read", true),
        ("r?ad", "rad", false),
        ("[rw]ead", "wead", true),
        ("[!rw]ead", "read", false),
        ("Read", "read", false),
        ("a{b,c}", "ab", false),
        ("a{b,c}", "a{b,c}", true),
        ("a\\*", "a\\x", true),
        ("a**b", "axxb", true),
        ("[", "[", true),
        ("a[1]", "a[1]", true),
        ("a.c", "abc", false),
    ] {
        assert_eq!(filter(Some(&[pattern]), &[]).keeps(name), expected, "{pattern} {name}");
    }
}

#[test]
fn a_pattern_that_matches_nothing_names_what_was_probably_meant() {
    let filter = filter(Some(&["raed_file", "mcp__fs__write_file", "read_*", "zzz"]), &[]);
    let unmatched = filter.unmatched(&["read_file", "write_file", "list"]);
    let shown: Vec<String> = unmatched.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

proptest::proptest! {
    #[test]
    fn no_pattern_makes_the_filter_panic(pattern in ".{0,40}", name in ".{0,40}") {
        let filter = filter(Some(&[&pattern]), &[&pattern]);
        let _: bool = filter.keeps(&name);
        proptest::prop_assert!(filter.keeps(&pattern));
        let _: Vec<Unmatched> = filter.unmatched(&[&name]);
    }
}

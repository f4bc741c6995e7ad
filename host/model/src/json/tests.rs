use proptest::prelude::*;

use super::*;

#[test]
fn order_number_text_and_unknown_members_survive() {
    let text =
        r#"{"z":1,"a":1.0,"m":1e400,"big":12345678901234567890123,"s":"\u0000\n\"é😀","e":{},"l":[[],null,true]}"#;
    assert_eq!(parse_str(text).unwrap().to_json(), text);
}

#[test]
fn duplicate_keys_are_refused_in_small_and_large_objects() {
    let error = parse_str(r#"{"a":1,"b":{"k":1,"\u006b":2}}"#).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::DuplicateKey("k".to_owned()));
    let many: Vec<String> = (0..40).map(|index| format!("\"k{index}\":0")).chain(["\"k3\":1".to_owned()]).collect();
    let error = parse_str(&format!("{{{}}}", many.join(","))).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::DuplicateKey("k3".to_owned()));
}

#[test]
fn lone_surrogates_and_broken_utf8_are_refused() {
    assert!(parse_str(r#""\ud83d\ude00""#).is_ok());
    for text in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\u0041""#] {
        assert!(parse_str(text).is_err(), "{text} was accepted");
    }
    assert!(parse(b"\"\xff\xfe\"").is_err());
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse_str(&deep(64)).is_ok());
    assert_eq!(parse_str(&deep(65)).unwrap_err().kind, ParseErrorKind::TooDeep);
    assert_eq!(parse_str(&deep(200_000)).unwrap_err().kind, ParseErrorKind::TooDeep);
    let limits = Limits { bytes: 4, depth: 1 };
    assert_eq!(parse_with(b"12345", limits).unwrap_err().kind, ParseErrorKind::TooLarge);
}

#[test]
fn what_json_does_not_have_is_refused() {
    for text in [
        "",
        "NaN",
        "Infinity",
        "-Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "'a'",
        "{a:1}",
        "[1,]",
        "{\"a\":1,}",
        "1 2",
        "\"\n\"",
        "tru",
    ] {
        assert!(parse_str(text).is_err(), "{text:?} was accepted");
    }
}

#[test]
fn magic_keys_stay_data() {
    let text = r#"{"$serde_json::private::Number":"1","$serde_json::private::RawValue":"{}","__proto__":{"a":1}}"#;
    assert_eq!(parse_str(text).unwrap().to_json(), text);
}

#[test]
fn equal_numbers_have_one_canonical_text() {
    for (text, canonical) in [
        ("1", "1"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("100", "1e2"),
        ("1E2", "1e2"),
        ("-0.0", "0"),
        ("-1.50", "-15e-1"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("0.001", "1e-3"),
    ] {
        assert_eq!(parse_str(text).unwrap().to_canonical(), canonical, "{text}");
    }
}

#[test]
fn canonical_text_sorts_members_and_digests_agree() {
    let left = parse_str(r#"{"b":[1.0,{"y":2,"x":1}],"a":"é"}"#).unwrap();
    let right = parse_str(r#"{"a":"\u00e9","b":[1,{"x":1,"y":2}]}"#).unwrap();
    assert_eq!(left.to_canonical(), r#"{"a":"é","b":[1,{"x":1,"y":2}]}"#);
    assert_eq!(left.digest(), right.digest());
}

#[test]
fn pointers_find_change_and_remove() {
    let mut value = parse_str(r#"{"a/b":[{"m~n":1}],"":2}"#).unwrap();
    assert_eq!(value.pointer("/a~1b/0/m~0n").and_then(Value::as_u64), Some(1));
    assert_eq!(value.pointer("/").and_then(Value::as_u64), Some(2));
    assert_eq!(value.pointer("/a~1b/00"), None);
    assert_eq!(value.pointer("a"), None);
    assert!(value.pointer("").is_some());
    *value.pointer_mut("/a~1b/0/m~0n").unwrap() = Value::Null;
    assert_eq!(value.remove_pointer("/a~1b/0/m~0n"), Some(Value::Null));
    assert_eq!(value.remove_pointer("/a~1b/0"), None);
    assert_eq!(value.to_json(), r#"{"a/b":[{}],"":2}"#);
}

#[test]
fn integers_are_read_from_their_text() {
    assert_eq!(parse_str("12.0").unwrap().as_u64(), Some(12));
    assert_eq!(parse_str("-7").unwrap().as_i64(), Some(-7));
    assert_eq!(parse_str("1.5").unwrap().as_u64(), None);
    assert_eq!(parse_str("18446744073709551616").unwrap().as_u64(), None);
}

/// JSON texts of any shape, with numbers and strings that programs like to change.
fn text() -> impl Strategy<Value = String> {
    let string = "[a\"\\\\\u{0}\u{1f}\u{7f}\u{2028}é文🙂]{0,70}".prop_map(|text| Value::from(text).to_json());
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?",
        string.clone(),
    ];
    leaf.prop_recursive(4, 30, 5, move |inner| {
        let members = proptest::collection::btree_map(string.clone(), inner.clone(), 0..5);
        prop_oneof![
            proptest::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            members.prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

#[test]
fn the_size_of_texts_is_counted_as_far_as_somebody_wants_to_know() {
    let value = parse_str(r#"{"ab":["cde",1,null],"f":{"g":"hi"}}"#).unwrap();
    assert_eq!(value.text_bytes(1_000), 9);
    assert!((4..=9).contains(&value.text_bytes(4)));
    assert_eq!(parse_str("[1,true,{}]").unwrap().text_bytes(10), 0);
}

proptest! {
    #[test]
    fn what_was_parsed_is_written_byte_for_byte(text in text()) {
        prop_assert_eq!(parse_str(&text).unwrap().to_json(), text);
    }

    #[test]
    fn a_string_survives_whatever_it_holds(text in any::<String>()) {
        let value = Value::from(text.as_str());
        let parsed = parse_str(&value.to_json()).unwrap();
        prop_assert_eq!(parsed.as_str(), Some(text.as_str()));
    }

    #[test]
    fn canonical_text_is_its_own_canonical_text_and_means_the_same(text in text()) {
        let canonical = parse_str(&text).unwrap().to_canonical();
        let again = parse_str(&canonical).unwrap();
        prop_assert_eq!(again.to_canonical(), canonical);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = parse(&bytes) {
            prop_assert_eq!(parse_str(&value.to_json()).unwrap(), value);
        }
    }
}

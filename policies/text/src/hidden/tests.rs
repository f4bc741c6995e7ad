use super::*;

fn kinds(text: &str) -> Vec<(Kind, &str)> {
    scan(text).into_iter().map(|hidden| (hidden.kind, &text[hidden.start..hidden.end])).collect()
}

#[test]
fn plain_text_with_tabs_and_line_ends_hides_nothing() {
    assert!(is_plain("a\tb\r\nc"));
    assert!(kinds(&"plain text\n".repeat(50)).is_empty());
}

#[test]
fn tag_text_is_found_even_behind_a_flag_that_no_region_has() {
    let tags: String = "ignore".bytes().map(|b| char::from_u32(0xE0000 + u32::from(b)).unwrap()).collect();
    assert_eq!(kinds(&format!("a{tags}b")), vec![(Kind::Tag, tags.as_str())]);
    let disguised = format!("🏴{tags}\u{E007F}");
    assert_eq!(kinds(&disguised).len(), 1);
}

#[test]
fn the_three_real_subdivision_flags_stay() {
    for region in ["gbeng", "gbsct", "gbwls"] {
        let tags: String = region.bytes().map(|b| char::from_u32(0xE0000 + u32::from(b)).unwrap()).collect();
        assert!(kinds(&format!("flag 🏴{tags}\u{E007F} here")).is_empty(), "{region}");
    }
}

#[test]
fn joiners_stay_between_emoji_and_between_letters_of_joining_scripts_only() {
    assert!(kinds("👩‍💻 and ❤️‍🔥").is_empty());
    assert!(kinds("می\u{200C}خواهم").is_empty());
    assert!(kinds("क्\u{200D}ष").is_empty());
    assert_eq!(kinds("pass\u{200D}word").len(), 1);
    assert_eq!(kinds("pass\u{200B}word").len(), 1);
}

#[test]
fn selectors_stay_on_emoji_and_keycaps_only() {
    assert!(kinds("✅\u{FE0F} 1\u{FE0F}\u{20E3}").is_empty());
    assert_eq!(kinds("1\u{FE0F}2").len(), 1);
    assert_eq!(kinds("😀\u{FE0F}\u{FE0F}").len(), 1);
    assert_eq!(kinds("a\u{E0139}\u{E0157}"), vec![(Kind::Variation, "\u{E0139}\u{E0157}")]);
}

#[test]
fn invisible_operators_soft_hyphens_and_direction_marks_are_found() {
    assert_eq!(kinds("\u{2062}\u{2064}x").len(), 1);
    assert_eq!(kinds("co\u{AD}operate")[0].0, Kind::Invisible);
    assert_eq!(kinds("\u{202E}dellac\u{202C}").len(), 2);
    assert_eq!(kinds("\u{FEFF}text")[0].0, Kind::Invisible);
}

#[test]
fn control_sequences_lose_their_introducer_and_string_sequences_go_whole() {
    assert_eq!(kinds("\u{1B}[31mred\u{1B}[0m"), vec![(Kind::Escape, "\u{1B}"), (Kind::Escape, "\u{1B}")]);
    let link = "\u{1B}]8;;https://example.net/\u{1B}\\";
    let found = scan(link);
    assert_eq!(found.len(), 1);
    assert!(!found[0].inert);
    assert_eq!(found[0].end, link.len());
    assert_eq!(kinds("\u{9B}8m"), vec![(Kind::Escape, "\u{9B}")]);
}

#[test]
fn an_unterminated_string_sequence_swallows_nothing_but_its_escape() {
    assert_eq!(kinds("\u{1B}]0;title and the rest"), vec![(Kind::Escape, "\u{1B}")]);
    assert_eq!(kinds("\u{1B}]0;title\nmore\u{7}").len(), 2);
}

#[test]
fn control_characters_are_found_and_merged() {
    assert_eq!(kinds("a\u{8}\u{8}\u{8}b\u{0}"), vec![(Kind::Control, "\u{8}\u{8}\u{8}"), (Kind::Control, "\0")]);
}

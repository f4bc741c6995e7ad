use proptest::prelude::*;

use super::*;

fn fragment() -> impl Strategy<Value = String> {
    let words = [
        "mcp_servers",
        "a",
        "command",
        "args",
        "env",
        "url",
        "timeout",
        "tools",
        "include",
        "policies",
        "rights",
        ": ",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "'",
        "\"",
        "&x ",
        "*x",
        "<<: ",
        "!!str ",
        "~",
        "true",
        ".nan",
        "-1",
        "1e999",
        "${TOKEN}",
        "${",
        "\\u",
        "\\ud83d",
        "\\ude00",
        "é",
        "\u{feff}",
        "\0",
        "|\n",
        "---\n",
        "#",
        "%TAG ! x\n",
        "? ",
        "\t",
        "0x",
        "https://",
        "@",
    ];
    prop_oneof![9 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(parts in proptest::collection::vec(fragment(), 0..60)) {
        let text = parts.concat();
        let config = parse(&text);
        let _: String = rendered(&config);
    }

    #[test]
    fn no_value_in_the_place_of_another_makes_the_reader_panic(
        parts in proptest::collection::vec((0..TWELVE.len(), fragment()), 1..6)
    ) {
        let mut text = TWELVE.to_owned();
        for (position, part) in parts {
            let position = (0..=position.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.insert_str(position, &part);
        }
        let config = parse(&text);
        prop_assert!(config.servers.len() + config.left_out.len() <= 200);
    }
}

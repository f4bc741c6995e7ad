//! Globs over names, as operators write them in settings: `*` stands for any characters, `?` for one, everything else for itself.

/// Returns true if the pattern covers the whole name, case included. Takes at most the product of both lengths in steps, whatever the pattern.
///
/// ```
/// assert!(portcullis_sdk::glob::matches("get_*", "get_issue"));
/// assert!(!portcullis_sdk::glob::matches("get_*", "forget_issue"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut pattern = pattern.chars();
    let mut name = name.chars();
    // Where to go on after a `*` that took too little.
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let before = pattern.clone();
        match (pattern.next(), name.clone().next()) {
            (None, None) => return true,
            (Some('*'), _) => retry = Some((before, name.clone())),
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                name.next();
            }
            (Some(_) | None, _) => {
                let Some((star, mut taken)) = retry.take() else { return false };
                if taken.next().is_none() {
                    return false;
                }
                pattern = star.clone();
                pattern.next();
                name = taken.clone();
                retry = Some((star, taken));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_covers_the_whole_name() {
        for (pattern, name) in [
            ("get_issue", "get_issue"),
            ("*", ""),
            ("*", "anything"),
            ("get_*", "get_"),
            ("*_file", "read_file"),
            ("a*b*c", "axxbyyc"),
            ("a*b*c", "abbcbc"),
            ("?b", "äb"),
            ("file:///docs/*", "file:///docs/a/b"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("get", "get_issue"), ("get_*", "forget_it"), ("?", ""), ("", "a"), ("a*b", "a"), ("Get_*", "get_x")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_stars_ends_soon_on_a_long_name() {
        assert!(!matches(&"a*".repeat(200), &"a".repeat(4_000).replacen('a', "b", 1)));
        assert!(!matches(&["*a".repeat(100).as_str(), "c"].concat(), &"a".repeat(4_000)));
    }

    /// The definition, letter by letter.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', rest @ ..], _) => (0..=name.len()).any(|taken| naive(rest, &name[taken..])),
            ([wanted, rest @ ..], [found, others @ ..]) if *wanted == '?' || wanted == found => naive(rest, others),
            _ => false,
        }
    }

    proptest::proptest! {
        #[test]
        fn a_pattern_means_what_its_definition_says(pattern in "[ab*?]{0,8}", name in "[abé]{0,8}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            proptest::prop_assert_eq!(matches(&pattern, &name), naive(&letters(&pattern), &letters(&name)));
        }
    }
}

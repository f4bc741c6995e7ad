//! Finding words in text.

/// Returns where a word stands in a text, both in lower case. Its neighbours may be no letters, digits or underscores, and
/// none of `joining`.
pub(crate) fn find_word(text: &str, word: &str, joining: &[char]) -> Option<usize> {
    let joins = |one: char| one.is_alphanumeric() || one == '_' || joining.contains(&one);
    text.match_indices(word).map(|(start, _)| start).find(|start| {
        let (before, from) = text.split_at(*start);
        let after = from.get(word.len()..).unwrap_or_default();
        let starts = !word.starts_with(|one: char| one.is_alphanumeric()) || !before.ends_with(joins);
        let ends = !word.ends_with(|one: char| one.is_alphanumeric()) || !after.starts_with(joins);
        starts && ends
    })
}

/// Returns true where a text matches a glob of `*` and `?`; brackets stand for any one character.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    /// A longer pattern is no word of a command.
    const LONGEST: usize = 256;
    if pattern.len() > LONGEST || text.len() > LONGEST {
        return false;
    }
    let pattern = brackets_to_any(pattern);
    // One row of the usual table: `row[i]` tells whether the pattern so far matches the first `i` characters.
    let text: Vec<char> = text.chars().collect();
    let mut row = vec![false; text.len() + 1];
    if let Some(first) = row.first_mut() {
        *first = true;
    }
    for one in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for (index, cell) in next.iter_mut().enumerate() {
            let diagonal = index.checked_sub(1).and_then(|before| row.get(before)).copied().unwrap_or_default();
            *cell = match one {
                '*' => row.iter().take(index + 1).any(|matched| *matched),
                '?' => diagonal,
                other => diagonal && index.checked_sub(1).and_then(|before| text.get(before)) == Some(&other),
            };
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

fn brackets_to_any(pattern: &str) -> String {
    let mut output = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, from)) = rest.split_once('[') {
        output.push_str(before);
        let Some((_, behind)) = from.split_once(']') else {
            output.push('[');
            rest = from;
            break;
        };
        output.push('?');
        rest = behind;
    }
    output.push_str(rest);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_alone() {
        assert!(find_word("a/curl 'x'", "curl", &['.', '-']).is_some());
        assert!(find_word("curl", "curl", &['.', '-']).is_some());
        for text in ["my-curl", "curl.real", "curly", "libcurl", "crl"] {
            assert_eq!(find_word(text, "curl", &['.', '-']), None, "{text}");
        }
    }

    #[test]
    fn globs_match_as_a_shell_would() {
        assert!(glob("c?rl", "curl") && glob("c*l", "curl") && glob("cu[rx]l", "curl") && glob("*", ""));
        assert!(!glob("c?l", "curl") && !glob("curl", "curls"));
    }
}

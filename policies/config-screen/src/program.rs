//! What a program is called, whatever it is written as.

/// Returns the name of a program: the last part of its path, in lower case, without extension, version and packaging words.
/// `/usr/bin/bash5.2`, `BASH.exe` and `bash/` are all `bash`; `nc.openbsd` is `nc`.
pub(crate) fn name(word: &str) -> String {
    let trimmed = word.trim().trim_matches(['"', '\'']).trim_end_matches(['/', '\\']);
    let base = trimmed.rsplit(['/', '\\']).next().unwrap_or(trimmed).to_lowercase();
    let base = [".exe", ".cmd", ".bat", ".com"].iter().find_map(|ending| base.strip_suffix(ending)).unwrap_or(&base);
    let stem = base.trim_end_matches(|one: char| one.is_ascii_digit() || matches!(one, '.' | '-'));
    let stem = if stem.is_empty() { base } else { stem };
    for ending in [".real", ".orig", ".openbsd", ".traditional", ".bin", "-static", "-bin", "-orig", "-real"] {
        if let Some(plain) = stem.strip_suffix(ending)
            && !plain.is_empty()
        {
            return plain.to_owned();
        }
    }
    // A copy under a name of its own: `my-curl`, `static_wget`.
    let copied = stem.rsplit(['-', '_']).next().filter(|last| last.len() < stem.len() && COPIED.contains(last));
    copied.unwrap_or(stem).to_owned()
}

/// Programs that are brought along under another name, and that no package is named after with a word before.
const COPIED: &[&str] = &["curl", "wget", "ncat", "netcat", "socat", "bash", "zsh", "busybox"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_versions_extensions_and_packaging_are_no_part_of_a_name() {
        for (word, expected) in [
            ("/usr/bin/bash5.2", "bash"),
            ("BASH.exe", "bash"),
            ("bash/", "bash"),
            (" bash\n", "bash"),
            ("C:\\Windows\\System32\\cmd.EXE", "cmd"),
            ("python3.11", "python"),
            ("curl.real", "curl"),
            ("curl-7", "curl"),
            ("nc.openbsd", "nc"),
            ("./my-curl", "curl"),
            ("static_wget", "wget"),
            ("mcp-server-fetch", "mcp-server-fetch"),
            ("npx", "npx"),
            ("7", "7"),
            ("", ""),
        ] {
            assert_eq!(name(word), expected, "{word:?}");
        }
    }
}

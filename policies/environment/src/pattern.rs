//! Names as an operator writes them: exact, or a prefix that ends with `*`.

use portcullis_sdk::ConfigureError;

/// Returns true if a pattern names a variable. Names are compared without regard to case where the platform does so.
pub(crate) fn names(pattern: &str, name: &str, any_case: bool) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => {
            let start = name.as_bytes().get(..prefix.len());
            start.is_some_and(|start| same(prefix.as_bytes(), start, any_case))
        }
        None => same(pattern.as_bytes(), name.as_bytes(), any_case),
    }
}

fn same(left: &[u8], right: &[u8], any_case: bool) -> bool {
    if any_case { left.eq_ignore_ascii_case(right) } else { left == right }
}

/// Refuses what would pass everything, and a `*` where it has no meaning.
pub(crate) fn check(place: &str, patterns: &[String]) -> Result<(), ConfigureError> {
    for (index, pattern) in patterns.iter().enumerate() {
        let prefix = pattern.strip_suffix('*').unwrap_or(pattern);
        let message = if prefix.is_empty() {
            "names no variable; a lone `*` would name the whole environment"
        } else if prefix.contains('*') {
            "a `*` has a meaning only at the end"
        } else if prefix.contains('=') {
            "is no name of a variable: the settings hold names, never values"
        } else {
            continue;
        };
        return Err(ConfigureError::at([place, "/", &index.to_string()].concat(), message));
    }
    Ok(())
}

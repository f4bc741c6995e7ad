//! Which URIs a resource template can stand for.

use globset::{GlobBuilder, GlobMatcher};

/// Returns a matcher of the URIs that a template (RFC 6570) can become. It is wide: each expression stands for any text.
/// Nothing where the template is malformed; the server decides in the end what it serves.
pub(crate) fn matcher(template: &str) -> Option<GlobMatcher> {
    let mut pattern = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((literal, from)) = rest.split_once('{') {
        pattern.push_str(&globset::escape(literal));
        let (_, behind) = from.split_once('}')?;
        if !pattern.ends_with('*') {
            pattern.push('*');
        }
        rest = behind;
    }
    pattern.push_str(&globset::escape(rest));
    let glob = GlobBuilder::new(&pattern).literal_separator(false).backslash_escape(false).build().ok()?;
    Some(glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_stand_for_any_text_and_the_rest_for_itself() {
        let matcher = matcher("file:///{+path}.txt{?v*}").unwrap();
        assert!(matcher.is_match("file:///a/b.txt?v=1"));
        assert!(!matcher.is_match("http:///a.txt"));
        assert!(!matcher.is_match("file:///a.md"));
    }

    #[test]
    fn what_looks_like_a_glob_is_literal() {
        let matcher = matcher("x://[a]*/{id}").unwrap();
        assert!(matcher.is_match("x://[a]*/1"));
        assert!(!matcher.is_match("x://a-/1"));
    }

    #[test]
    fn a_template_that_is_not_closed_matches_nothing() {
        assert!(matcher("x://{id").is_none());
    }
}

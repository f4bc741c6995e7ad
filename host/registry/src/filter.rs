//! Which of a server's items the operator wants.

use globset::{GlobBuilder, GlobMatcher};
use portcullis_config::ToolFilter;

/// Which of a server's items the operator wants. Patterns match the server's own names, case and all: `*` stands for any
/// text, `?` for one character, `[abc]` and `[!abc]` for one of or none of some.
#[derive(Clone, Debug)]
pub struct Filter {
    include: Option<Vec<Pattern>>,
    exclude: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    /// Nothing where the text is no pattern that can be compiled: it then matches itself alone.
    glob: Option<GlobMatcher>,
}

/// A pattern that matches none of a server's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The pattern.
    pub pattern: String,
    /// Names that were probably meant, the nearest first, three at most.
    pub near: Vec<String>,
    /// True where the pattern is written in the published form, `mcp__server__name`.
    pub published_form: bool,
}

impl Filter {
    /// Builds a filter.
    pub fn new(options: &ToolFilter) -> Self {
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
        Self { include: options.include.as_deref().map(patterns), exclude: patterns(&options.exclude) }
    }

    /// Returns true where an item of that name is wanted. `include` wins over `exclude`; an empty `include` wants nothing.
    pub fn keeps(&self, name: &str) -> bool {
        let matches = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        match &self.include {
            Some(include) => matches(include),
            None => !matches(&self.exclude),
        }
    }

    /// Returns the patterns in force that match none of the names.
    pub fn unmatched(&self, names: &[&str]) -> Vec<Unmatched> {
        let patterns = self.include.as_deref().unwrap_or(&self.exclude);
        let idle = patterns.iter().filter(|pattern| !names.iter().any(|name| pattern.matches(name)));
        idle.map(|pattern| unmatched(&pattern.text, names)).collect()
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        let glob = GlobBuilder::new(&translate(text)).literal_separator(false).backslash_escape(false).build();
        Self { text: text.to_owned(), glob: glob.ok().map(|glob| glob.compile_matcher()) }
    }

    fn matches(&self, name: &str) -> bool {
        self.text == name || self.glob.as_ref().is_some_and(|glob| glob.is_match(name))
    }
}

/// Takes the meaning from what only file globs know: braces stand for themselves, and two stars are one.
fn translate(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    let mut inside = false;
    for character in text.chars() {
        match character {
            '*' if !inside && pattern.ends_with('*') => {}
            '{' | '}' if !inside => {
                pattern.push('[');
                pattern.push(character);
                pattern.push(']');
            }
            other => {
                inside = match other {
                    '[' => true,
                    ']' => false,
                    _ => inside,
                };
                pattern.push(other);
            }
        }
    }
    pattern
}

fn unmatched(pattern: &str, names: &[&str]) -> Unmatched {
    /// Most names that are worth reading.
    const MOST: usize = 3;
    const SIMILAR: f64 = 0.75;
    let tail = pattern.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(_, name)| name);
    let word = tail.unwrap_or(pattern).to_lowercase();
    let mut near: Vec<(f64, &str)> = names
        .iter()
        .map(|name| (strsim::jaro_winkler(&word, &name.to_lowercase()), *name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    Unmatched {
        pattern: pattern.to_owned(),
        near: near.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect(),
        published_form: tail.is_some(),
    }
}

impl std::fmt::Display for Unmatched {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the pattern {:?} matches nothing that the server lists", self.pattern)?;
        if self.published_form {
            formatter.write_str("; patterns match the server's own names, without `mcp__server__`")?;
        }
        if !self.near.is_empty() {
            let near: Vec<String> = self.near.iter().map(|name| format!("{name:?}")).collect();
            write!(formatter, "; did you mean {}?", near.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! For which arguments a grant holds.

use std::fmt;

use portcullis_model::json::{Value, parse_str};

/// A constraint has so many clauses at most: a person writes two or three.
const MOST_CLAUSES: usize = 32;

/// A clause names so many values at most.
const MOST_VALUES: usize = 64;

/// Pointers and values are this many bytes at most.
const LONGEST: usize = 4_096;

/// For which arguments a grant holds: those that every clause holds for. Without clauses, all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraint {
    clauses: Vec<Clause>,
}

/// What one argument must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// JSON pointer (RFC 6901) into the arguments; empty for all of them.
    pub pointer: String,
    /// What stands there.
    pub test: Test,
}

/// How an argument is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is that value. Numbers are compared by their canonical text.
    Equals(Value),
    /// It is one of those values.
    OneOf(Vec<Value>),
    /// It is a path that, component by component, begins with that path. A path that could lead elsewhere than its text
    /// says (see `components`) begins with nothing.
    PathPrefix(String),
}

/// A text is no constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// It is not of the form `POINTER=VALUE` or `POINTER^=PATH`.
    #[error("`{0}` is no constraint; hint: write `/pointer=value` or `/pointer^=/path`")]
    Form(String),
    /// The path of a prefix is no plain path.
    #[error("`{0}` is no plain path: it has `..`, a backslash, `%`, `$` or a control character, or is empty")]
    Path(String),
    /// It is larger than a constraint may be.
    #[error("the constraint is too large")]
    TooLarge,
}

impl Constraint {
    /// Returns the constraint of some clauses.
    pub fn new(clauses: Vec<Clause>) -> Result<Self, ConstraintError> {
        if clauses.len() > MOST_CLAUSES {
            return Err(ConstraintError::TooLarge);
        }
        clauses.iter().try_for_each(Clause::check)?;
        Ok(Self { clauses })
    }

    /// Reads it as a person writes it: `POINTER=VALUE` for a value, as JSON where it is JSON and as a text where not;
    /// several for one pointer mean one of them; `POINTER^=PATH` for a path below `PATH`.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, ConstraintError> {
        let mut clauses: Vec<Clause> = Vec::new();
        for text in texts {
            let form = || ConstraintError::Form(text.chars().take(200).collect());
            let (pointer, value) = text.split_once('=').ok_or_else(form)?;
            let (pointer, is_prefix) = pointer.strip_suffix('^').map_or((pointer, false), |pointer| (pointer, true));
            if !(pointer.is_empty() || pointer.starts_with('/')) {
                return Err(form());
            }
            if is_prefix {
                clauses.push(Clause { pointer: pointer.to_owned(), test: Test::PathPrefix(value.to_owned()) });
                continue;
            }
            let value = parse_str(value).unwrap_or_else(|_| Value::from(value));
            let known = clauses
                .iter_mut()
                .find(|clause| clause.pointer == pointer && !matches!(clause.test, Test::PathPrefix(_)));
            match known {
                Some(clause) => clause.test.or(value),
                None => clauses.push(Clause { pointer: pointer.to_owned(), test: Test::Equals(value) }),
            }
        }
        Self::new(clauses)
    }

    /// Returns the clauses.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Returns true where every clause holds for the arguments.
    pub fn holds(&self, arguments: &Value) -> bool {
        self.clauses.iter().all(|clause| clause.holds(arguments))
    }

    /// Returns it as JSON: an array of objects with `pointer` and one of `equals`, `one_of`, `path_prefix`.
    pub fn to_value(&self) -> Value {
        Value::Array(self.clauses.iter().map(Clause::to_value).collect())
    }

    /// Reads what [`Constraint::to_value`] returned. Nothing where it is anything else: a clause that is not understood
    /// must not be left out, for that would widen the grant.
    pub fn from_value(value: &Value) -> Option<Self> {
        let clauses = value.as_array()?.iter().map(Clause::from_value).collect::<Option<Vec<_>>>()?;
        Self::new(clauses).ok()
    }
}

impl Clause {
    fn check(&self) -> Result<(), ConstraintError> {
        let size = |value: &Value| value.to_canonical().len();
        let largest = match &self.test {
            Test::Equals(value) => size(value),
            Test::OneOf(values) if values.len() > MOST_VALUES => return Err(ConstraintError::TooLarge),
            Test::OneOf(values) => values.iter().map(size).max().unwrap_or_default(),
            Test::PathPrefix(path) => {
                if !components(path).is_some_and(|path| path.is_rooted || !path.names.is_empty()) {
                    return Err(ConstraintError::Path(path.chars().take(200).collect()));
                }
                path.len()
            }
        };
        if largest.max(self.pointer.len()) > LONGEST { Err(ConstraintError::TooLarge) } else { Ok(()) }
    }

    fn holds(&self, arguments: &Value) -> bool {
        let Some(found) = arguments.pointer(&self.pointer) else {
            return false;
        };
        match &self.test {
            Test::Equals(value) => is_same(found, value),
            Test::OneOf(values) => values.iter().any(|value| is_same(found, value)),
            Test::PathPrefix(prefix) => found.as_str().is_some_and(|path| is_below(path, prefix)),
        }
    }

    fn to_value(&self) -> Value {
        let (key, test) = match &self.test {
            Test::Equals(value) => ("equals", value.clone()),
            Test::OneOf(values) => ("one_of", Value::Array(values.clone())),
            Test::PathPrefix(path) => ("path_prefix", Value::from(path.as_str())),
        };
        portcullis_model::object! { "pointer" => self.pointer.as_str(), key => test }.into()
    }

    fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let pointer = object.get("pointer")?.as_str()?.to_owned();
        let mut others = object.iter().filter(|(key, _)| *key != "pointer");
        let (key, value) = others.next()?;
        if others.next().is_some() {
            return None;
        }
        let test = match key {
            "equals" => Test::Equals(value.clone()),
            "one_of" => Test::OneOf(value.as_array()?.to_vec()),
            "path_prefix" => Test::PathPrefix(value.as_str()?.to_owned()),
            _ => return None,
        };
        Some(Self { pointer, test })
    }
}

impl Test {
    /// Adds a value to those that are accepted.
    fn or(&mut self, value: Value) {
        match self {
            Self::Equals(known) => *self = Self::OneOf(vec![known.clone(), value]),
            Self::OneOf(values) => values.push(value),
            Self::PathPrefix(_) => {}
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, clause) in self.clauses.iter().enumerate() {
            let space = if index == 0 { "" } else { ", " };
            let pointer = &clause.pointer;
            match &clause.test {
                Test::Equals(value) => write!(formatter, "{space}{pointer}={}", value.to_canonical())?,
                Test::OneOf(values) => {
                    let values: Vec<_> = values.iter().map(Value::to_canonical).collect();
                    write!(formatter, "{space}{pointer}={}", values.join(" or "))?;
                }
                Test::PathPrefix(path) => write!(formatter, "{space}{pointer}^={path}")?,
            }
        }
        Ok(())
    }
}

fn is_same(left: &Value, right: &Value) -> bool {
    left.to_canonical() == right.to_canonical()
}

/// A path taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Components<'a> {
    /// True where it begins at the root.
    is_rooted: bool,
    /// Its names, `.` and empty ones left out.
    names: Vec<&'a str>,
}

/// Takes a path or URL apart. Nothing where it could mean another place than it says to some server: with `..`, a
/// backslash, an escape (`%`), a variable (`$`), a control character, or `//` at its start (a network path). Such paths
/// are asked about again, which costs a question; being wrong about one would cost the constraint.
fn components(path: &str) -> Option<Components<'_>> {
    let is_doubtful = |character: char| character.is_control() || matches!(character, '\\' | '%' | '$');
    if path.contains("..") || path.starts_with("//") || path.contains(is_doubtful) {
        return None;
    }
    let names = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    Some(Components { is_rooted: path.starts_with('/'), names })
}

fn is_below(path: &str, prefix: &str) -> bool {
    match (components(path), components(prefix)) {
        (Some(path), Some(prefix)) => path.is_rooted == prefix.is_rooted && path.names.starts_with(&prefix.names),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

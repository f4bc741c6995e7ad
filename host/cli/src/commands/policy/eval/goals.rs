//! Shares of cases that are to be reached or not exceeded, and whether they are.

use std::io::{self, Write};

use globset::{Glob, GlobMatcher};
use portcullis_model::json::{Number, Object, Value};
use portcullis_model::object;

use super::case::Case;
use super::level::{Level, Outcome, Reach};
use super::table::hundredths;
use crate::failure::one_line;

/// What can be said of the cases that a goal is about, in the order of [`Goal::selection`].
const ATTRIBUTES: [&str; 5] = ["file", "label", "group", "kind", "source"];

/// Quantile of the standard normal distribution that leaves 2.5 % on either side.
const QUANTILE: f64 = 1.96;

/// A list of goals is no goal file.
#[derive(Debug, thiserror::Error)]
pub(super) enum GoalError {
    /// There is no list `goals`.
    #[error("there is no list `goals`")]
    NoList,
    /// A goal is not a map of the known members.
    #[error("goal {number}: {problem}")]
    Goal { number: usize, problem: String },
    /// A glob cannot be read.
    #[error("goal {number}: `{glob}` is no glob")]
    Glob { number: usize, glob: String, source: globset::Error },
}

/// One attribute and what it must be like.
#[derive(Debug)]
struct Wanted {
    attribute: usize,
    /// Any of these; or none of these, where `except`.
    globs: Vec<GlobMatcher>,
    except: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// A share of cases with its bound.
#[derive(Debug)]
struct Goal {
    name: String,
    selection: Vec<Wanted>,
    reach: Reach,
    bound: Option<Bound>,
    cases: u64,
    reached: u64,
}

/// All goals of a file, with what was counted for them.
#[derive(Debug, Default)]
pub(super) struct Goals(Vec<Goal>);

impl Goals {
    /// Reads a document: a list `goals` of maps with `name`, `level`, `at_least` or `at_most` (percent), and globs or lists
    /// of globs by attribute, those of `except` to be left out.
    pub(super) fn read(document: &Value) -> Result<Self, GoalError> {
        let list = document.get("goals").and_then(Value::as_array).ok_or(GoalError::NoList)?;
        list.iter().zip(1..).map(|(goal, number)| Goal::read(goal, number)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts a case for the goals that are about it.
    pub(super) fn add(&mut self, file: &str, case: &Case, outcome: &Outcome) {
        if outcome.is_unreadable() {
            return;
        }
        let attributes = [file, &case.label, &case.group, &case.kind, &case.source];
        for goal in self.0.iter_mut().filter(|goal| goal.is_about(attributes)) {
            goal.cases += 1;
            goal.reached += u64::from(outcome.reached(goal.reach));
        }
    }

    /// Returns true where a bound does not hold. A goal without cases says nothing.
    pub(super) fn any_missed(&self) -> bool {
        self.0.iter().any(|goal| goal.met() == Some(false))
    }

    pub(super) fn to_value(&self) -> Value {
        Value::from(self.0.iter().map(|goal| Value::from(goal.to_object())).collect::<Vec<_>>())
    }

    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let (cases, reached) = ("cases", "reached");
        writeln!(out, "goals\n  {:<64} {cases:>6} {reached:>7} {:>7}   95 % interval      goal", "", "%")?;
        self.0.iter().try_for_each(|goal| goal.write_line(out))
    }
}

impl Goal {
    fn read(document: &Value, number: usize) -> Result<Self, GoalError> {
        let wrong = |problem: String| GoalError::Goal { number, problem };
        let members = document.as_object().ok_or_else(|| wrong("it is no map".to_owned()))?;
        let mut goal = Self {
            name: String::new(),
            selection: Vec::new(),
            reach: Reach::Level(Level::Ask),
            bound: None,
            cases: 0,
            reached: 0,
        };
        for (name, value) in members.iter() {
            let percent = || {
                value
                    .as_number()
                    .and_then(Number::as_f64)
                    .ok_or_else(|| wrong(format!("`{name}` is a number of percent")))
            };
            match name {
                "name" => value.as_str().unwrap_or_default().clone_into(&mut goal.name),
                "level" => goal.reach = reach(value).ok_or_else(|| wrong(unknown_level()))?,
                "at_least" => goal.bound = Some(Bound::AtLeast(percent()?)),
                "at_most" => goal.bound = Some(Bound::AtMost(percent()?)),
                "except" => {
                    for (name, value) in value.as_object().into_iter().flat_map(Object::iter) {
                        goal.selection.push(wanted(name, value, true, number)?);
                    }
                }
                name => goal.selection.push(wanted(name, value, false, number)?),
            }
        }
        if goal.name.is_empty() {
            return Err(wrong("it has no `name`".to_owned()));
        }
        Ok(goal)
    }

    fn is_about(&self, attributes: [&str; 5]) -> bool {
        self.selection.iter().all(|wanted| {
            let value = attributes.get(wanted.attribute).copied().unwrap_or_default();
            wanted.globs.iter().any(|glob| glob.is_match(value)) != wanted.except
        })
    }

    fn percent(&self) -> f64 {
        hundredths(self.reached, self.cases)
    }

    fn met(&self) -> Option<bool> {
        let bound = self.bound.filter(|_| self.cases > 0)?;
        Some(match bound {
            Bound::AtLeast(least) => self.percent() >= least,
            Bound::AtMost(most) => self.percent() <= most,
        })
    }

    fn to_object(&self) -> Object {
        let number = |value: f64| Number::from_f64((value * 100.0).round() / 100.0).map_or(Value::Null, Value::Number);
        let (low, high) = interval(self.reached, self.cases);
        let mut object = object! {
            "name" => self.name.as_str(),
            "level" => self.reach.as_str(),
            "cases" => self.cases,
            "reached" => self.reached,
            "percent" => number(self.percent()),
            "interval" => vec![number(low), number(high)],
        };
        match self.bound {
            Some(Bound::AtLeast(percent)) => object.insert("at_least", number(percent)),
            Some(Bound::AtMost(percent)) => object.insert("at_most", number(percent)),
            None => None,
        };
        if let Some(met) = self.met() {
            object.insert("met", met);
        }
        object
    }

    fn write_line(&self, out: &mut dyn Write) -> io::Result<()> {
        let (low, high) = interval(self.reached, self.cases);
        let name = format!("{}: {}", one_line(&self.name), self.reach.as_str());
        write!(out, "  {name:<64} {:>6} {:>7} {:>7.2}", self.cases, self.reached, self.percent())?;
        write!(out, "  {low:>6.2} – {high:<6.2}")?;
        match self.bound {
            Some(Bound::AtLeast(percent)) => write!(out, "  ≥ {percent:<6}")?,
            Some(Bound::AtMost(percent)) => write!(out, "  ≤ {percent:<6}")?,
            None => {}
        }
        writeln!(out, "{}", self.met().map_or("", |met| if met { " met" } else { " MISSED" }))
    }
}

fn reach(value: &Value) -> Option<Reach> {
    Some(match value.as_str()? {
        "note" => Reach::Level(Level::Note),
        "flag" => Reach::Level(Level::Flag),
        "ask" => Reach::Level(Level::Ask),
        "block" => Reach::Level(Level::Block),
        "edit" => Reach::Edit,
        _ => return None,
    })
}

fn unknown_level() -> String {
    "`level` is one of note, flag, ask, block, edit".to_owned()
}

fn wanted(name: &str, value: &Value, except: bool, number: usize) -> Result<Wanted, GoalError> {
    let wrong = |problem: String| GoalError::Goal { number, problem };
    let attribute = ATTRIBUTES.iter().position(|attribute| *attribute == name);
    let attribute =
        attribute.ok_or_else(|| wrong(format!("`{name}` is not known; cases have {}", ATTRIBUTES.join(", "))))?;
    let texts = match value.as_array() {
        Some(list) => list.iter().map(Value::as_str).collect::<Option<Vec<_>>>(),
        None => value.as_str().map(|text| vec![text]),
    };
    let texts = texts.ok_or_else(|| wrong(format!("`{name}` is a glob or a list of globs")))?;
    let compile = |glob: &str| match Glob::new(glob) {
        Ok(compiled) => Ok(compiled.compile_matcher()),
        Err(source) => Err(GoalError::Glob { number, glob: glob.to_owned(), source }),
    };
    Ok(Wanted { attribute, globs: texts.into_iter().map(compile).collect::<Result<_, _>>()?, except })
}

/// Returns the interval of Wilson (1927) for a share at 95 %, in percent: what other cases of the kinds would give.
#[expect(clippy::cast_precision_loss, reason = "a share for people; counts of lines are far from 2^52")]
fn interval(reached: u64, cases: u64) -> (f64, f64) {
    if cases == 0 {
        return (0.0, 100.0);
    }
    let (cases, share) = (cases as f64, reached as f64 / cases as f64);
    let square = QUANTILE * QUANTILE;
    let middle = share + square / (2.0 * cases);
    let width = QUANTILE * (share * (1.0 - share) / cases + square / (4.0 * cases * cases)).sqrt();
    let whole = 1.0 + square / cases;
    let percent = |value: f64| (100.0 * value / whole).clamp(0.0, 100.0);
    (percent(middle - width), percent(middle + width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_that_of_wilson() {
        let near = |(low, high): (f64, f64), wanted: (f64, f64)| {
            (low - wanted.0).abs() < 0.05 && (high - wanted.1).abs() < 0.05
        };
        // Values that tables of the score interval give.
        assert!(near(interval(8, 10), (49.0, 94.3)), "{:?}", interval(8, 10));
        assert!(near(interval(0, 100), (0.0, 3.7)), "{:?}", interval(0, 100));
        assert!(near(interval(50, 50), (92.9, 100.0)), "{:?}", interval(50, 50));
        assert_eq!(interval(0, 0), (0.0, 100.0));
    }

    #[test]
    fn a_goal_that_cannot_be_read_is_refused_with_its_number() {
        let read = |text: &str| {
            Goals::read(&portcullis_runtime::parse_yaml(text.as_bytes()).unwrap()).map(|_| ()).unwrap_err()
        };
        assert!(matches!(read("[]"), GoalError::NoList));
        for text in [
            "goals: [{name: a}, {name: b, grup: x}]",
            "goals: [{name: a}, {group: x}]",
            "goals: [{name: a}, {name: b, level: most}]",
        ] {
            assert!(matches!(read(text), GoalError::Goal { number: 2, .. }), "{text}");
        }
        assert!(matches!(read("goals: [{name: a, group: '['}]"), GoalError::Glob { number: 1, .. }));
    }
}

//! A day of the calendar, as people write it in a config.

use std::fmt;
use std::time::{Duration, SystemTime};

const SECONDS: u64 = 86_400;

/// A day of the Gregorian calendar from 1970 on, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day {
    year: u32,
    month: u32,
    of_month: u32,
}

/// A text is no day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no day from 1970 on: write it as `2026-01-31`")]
pub struct DayError;

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn length(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Day {
    /// Parses `YYYY-MM-DD` (RFC 3339 `full-date`).
    pub fn parse(text: &str) -> Result<Self, DayError> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part =
                parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()));
            part.and_then(|part| part.parse::<u32>().ok()).ok_or(DayError)
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        let fits = year >= 1970 && (1..=12).contains(&month) && (1..=length(year, month)).contains(&day);
        if fits && parts.next().is_none() { Ok(Self { year, month, of_month: day }) } else { Err(DayError) }
    }

    /// Returns the moment at which the day is over.
    pub fn end(self) -> SystemTime {
        let years: u64 = (1970..self.year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
        let months: u64 = (1..self.month).map(|month| u64::from(length(self.year, month))).sum();
        SystemTime::UNIX_EPOCH + Duration::from_secs((years + months + u64::from(self.of_month)) * SECONDS)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.of_month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_where_the_next_one_begins() {
        let seconds = |text| Day::parse(text).unwrap().end().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(seconds("1970-01-01"), SECONDS);
        assert_eq!(seconds("2000-02-29"), 951_868_800);
        assert_eq!(seconds("2026-12-31"), 1_798_761_600);
        assert_eq!(Day::parse("2026-01-02").unwrap().to_string(), "2026-01-02");
    }

    #[test]
    fn what_is_on_no_calendar_is_no_day() {
        for text in [
            "",
            "2026",
            "2026-02-30",
            "2025-02-29",
            "2100-02-29",
            "2026-13-01",
            "1969-12-31",
            "2026-1-2",
            "+026-01-01",
            "2026-01-01T00:00:00Z",
            "2026-01-01-",
        ] {
            assert_eq!(Day::parse(text), Err(DayError), "{text}");
        }
    }
}

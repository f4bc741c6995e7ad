//! Moments as people write and read them.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Datelike as _, Timelike as _};

/// Returns a moment as RFC 3339 writes it, in UTC, to the millisecond.
pub(crate) fn show(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let milliseconds = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let Some(moment) = DateTime::from_timestamp_millis(milliseconds) else {
        return format!("{milliseconds} ms after 1970");
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        moment.year(),
        moment.month(),
        moment.day(),
        moment.hour(),
        moment.minute(),
        moment.second(),
        moment.timestamp_subsec_millis()
    )
}

/// Reads a moment: a time span back from now (`90s`, `30m`, `12h`, `7d`), or a date and time as RFC 3339 writes it.
pub(crate) fn parse(text: &str) -> Result<SystemTime, String> {
    let span = text.split_at_checked(text.len().saturating_sub(1)).and_then(|(number, unit)| {
        let unit = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(unit).map(Duration::from_secs)
    });
    if let Some(span) = span {
        return Ok(SystemTime::now().checked_sub(span).unwrap_or(SystemTime::UNIX_EPOCH));
    }
    let moment = DateTime::parse_from_rfc3339(text)
        .map_err(|_| "write it as `30m`, `12h`, `7d`, or as `2026-01-31T08:00:00Z`".to_owned())?;
    let milliseconds = u64::try_from(moment.timestamp_millis()).unwrap_or(0);
    Ok(SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_shown() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_123);
        assert_eq!(show(time), "2027-01-15T08:00:00.123Z");
        assert_eq!(parse(&show(time)), Ok(time));
        assert_eq!(parse("2027-01-15T09:00:00.123+01:00"), Ok(time));
        let hour = SystemTime::now().duration_since(parse("1h").unwrap()).unwrap();
        assert!((3_590..3_900).contains(&hour.as_secs()), "{hour:?}");
        for other in ["", "h", "1w", "-1h", "yesterday", "2027-01-15", "é"] {
            assert!(parse(other).is_err(), "{other}");
        }
    }
}

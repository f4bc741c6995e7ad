//! Numbers as the text they were written in.

use std::fmt;

/// A JSON number, kept as its text: `1`, `1.0`, `1e0` and `12345678901234567890123` all survive.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// Wraps text that a JSON parser accepted as a number.
    pub(super) fn from_parsed(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the number of that value; nothing for infinities and NaN, which JSON does not have.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self(value.to_string().into()))
    }

    /// Returns the text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value as an unsigned integer, if it is one and fits. A fraction of zeros is allowed.
    pub fn as_u64(&self) -> Option<u64> {
        self.integer_text()?.parse().ok()
    }

    /// Returns the value as an integer, if it is one and fits. A fraction of zeros is allowed.
    pub fn as_i64(&self) -> Option<i64> {
        self.integer_text()?.parse().ok()
    }

    /// Returns the nearest double; nothing where it would be infinite.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn integer_text(&self) -> Option<&str> {
        match self.0.split_once('.') {
            None => Some(&self.0),
            Some((whole, fraction)) => fraction.bytes().all(|byte| byte == b'0').then_some(whole),
        }
    }

    /// Returns the canonical text: digits without leading or trailing zeros, and a power of ten where there is one.
    /// Equal values have equal canonical texts, whatever their size: no float is involved.
    pub fn canonical(&self) -> String {
        let (negative, rest) = match self.0.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, &*self.0),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent),
            None => (rest, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let leading = digits.trim_start_matches('0');
        if leading.is_empty() {
            return "0".to_owned();
        }
        let significant = leading.trim_end_matches('0');
        let trailing = leading.len() - significant.len();
        // An exponent beyond 64 bits can't be added to: such a number is canonical as it stands.
        let Some(power) = exponent
            .parse::<i64>()
            .ok()
            .and_then(|power| power.checked_sub(i64::try_from(fraction.len()).ok()?))
            .and_then(|power| power.checked_add(i64::try_from(trailing).ok()?))
        else {
            return self.0.to_ascii_lowercase();
        };
        let sign = if negative { "-" } else { "" };
        if power == 0 { format!("{sign}{significant}") } else { format!("{sign}{significant}e{power}") }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(value.to_string().into())
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

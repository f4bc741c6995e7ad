//! Plain scalars by the core schema of YAML 1.2 (§10.3.2).

use portcullis_model::json::{self, Number, Value};

use super::{Kind, Plain};

/// Returns what a plain scalar is. A number with a leading zero is a text: it is more often a version, a mode or an
/// account than a number, and texts keep their zeros.
pub(super) fn resolve(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Plain(Plain::Bool(true), text.to_owned()),
        "false" | "False" | "FALSE" => Kind::Plain(Plain::Bool(false), text.to_owned()),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "-.inf" | "-.Inf" | "-.INF" => {
            Kind::Plain(Plain::NotFinite, text.to_owned())
        }
        other => match number(other) {
            Some(value) => Kind::Plain(Plain::Number(value), text.to_owned()),
            None => Kind::Text { text: text.to_owned(), interpolated: false },
        },
    }
}

fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = unsigned.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let digits = unsigned.bytes().filter(u8::is_ascii_digit).count();
    let allowed = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let padded = unsigned.len() > 1 && unsigned.starts_with('0') && !unsigned.starts_with("0.");
    if digits == 0 || padded || !unsigned.bytes().all(allowed) || unsigned.starts_with(['e', 'E', '+', '-']) {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

#[expect(clippy::cast_precision_loss, reason = "settings are small; the written text is kept besides")]
fn radix(digits: &str, radix: u32) -> Option<f64> {
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(|value| value as f64)
}

/// Returns the JSON value of a plain scalar; the number text is kept where JSON has such a number.
pub(super) fn to_value(plain: &Plain, text: &str) -> Value {
    match plain {
        Plain::Bool(value) => Value::Bool(*value),
        Plain::Number(value) => match json::parse_str(text) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => Number::from_f64(*value).map_or(Value::Null, Value::Number),
        },
        Plain::NotFinite => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(text: &str) -> Option<f64> {
        if let Kind::Plain(Plain::Number(value), _) = resolve(text) { Some(value) } else { None }
    }

    #[test]
    fn numbers_follow_the_core_schema() {
        assert_eq!(number_of("12"), Some(12.0));
        assert_eq!(number_of("-1.5e2"), Some(-150.0));
        assert_eq!(number_of("0x1F"), Some(31.0));
        assert_eq!(number_of("0o17"), Some(15.0));
        assert_eq!(number_of("0.5"), Some(0.5));
    }

    #[test]
    fn texts_that_only_look_like_numbers_stay_texts() {
        for text in ["007", "1.2.3", "1_000", "1e999", "e5", "0x", "-", ".", "12a", "nan", "inf", "infinity"] {
            assert!(matches!(resolve(text), Kind::Text { .. }), "{text}");
        }
    }

    #[test]
    fn yes_and_no_are_texts_as_in_yaml_1_2() {
        assert!(matches!(resolve("yes"), Kind::Text { .. }));
        assert!(matches!(resolve("off"), Kind::Text { .. }));
    }

    #[test]
    fn number_text_survives_into_json() {
        assert_eq!(to_value(&Plain::Number(1.0), "1.0").to_json(), "1.0");
        assert_eq!(to_value(&Plain::Number(31.0), "0x1F").to_json(), "31");
    }
}

//! The switch that removes every server.

/// Variables that switch it on: ours, and the one of the reference client.
const VARIABLES: [&str; 2] = ["PORTCULLIS_SAFE_MODE", "HERMES_SAFE_MODE"];

/// Returns the variable that switches safe mode on, looked up by `variable`.
///
/// `1`, `true`, `yes` and `on` do, in any letters and with spaces around. Any other text is no consent to run without
/// servers, and none to run with them either: only an empty text, `0`, `false`, `no` and `off` leave it off.
pub fn safe_mode(variable: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    VARIABLES.into_iter().find(|name| {
        variable(name)
            .is_some_and(|text| !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_variable_switches_safe_mode_on() {
        assert_eq!(safe_mode(|name| (name == "PORTCULLIS_SAFE_MODE").then(|| "1".to_owned())), Some(VARIABLES[0]));
        assert_eq!(safe_mode(|name| (name == "HERMES_SAFE_MODE").then(|| " Yes ".to_owned())), Some(VARIABLES[1]));
        assert_eq!(safe_mode(|_| None), None);
    }

    #[test]
    fn a_text_that_says_no_leaves_safe_mode_off_and_any_other_switches_it_on() {
        for off in ["", " ", "0", "false", "No", "OFF"] {
            assert_eq!(safe_mode(|_| Some(off.to_owned())), None, "{off:?}");
        }
        assert!(safe_mode(|_| Some("enabled".to_owned())).is_some());
    }
}

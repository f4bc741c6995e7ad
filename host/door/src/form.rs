//! Parameters of a request, as pairs (RFC 6749 §3.1, §3.2).

/// So many parameters are looked at: the longest request has a dozen.
const MOST: usize = 64;

/// Parameters of a request. One that is empty counts as one that is not there; one that is there twice is told of.
#[derive(Debug, Default)]
pub(crate) struct Form {
    pairs: Vec<(String, String)>,
    repeated: Vec<String>,
    has_more: bool,
}

impl Form {
    /// Reads the query of an address, or a body of the same form.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(text) {
            if form.pairs.len() >= MOST {
                form.has_more = true;
                break;
            }
            if form.pairs.iter().any(|(other, _)| *other == name) {
                form.repeated.push(name.into_owned());
            } else {
                form.pairs.push((name.into_owned(), value.into_owned()));
            }
        }
        form
    }

    /// Returns the value of a parameter, its first where there are several.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let pair = self.pairs.iter().find(|(other, _)| other == name);
        pair.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns true where one of these is there twice, or where there are too many for that to be said.
    pub(crate) fn repeats(&self, names: &[&str]) -> bool {
        self.has_more || self.repeated.iter().any(|name| names.contains(&name.as_str()))
    }

    /// Returns true where anything is there twice.
    pub(crate) fn repeats_any(&self) -> bool {
        self.has_more || !self.repeated.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_empty_is_not_there_and_one_that_is_there_twice_is_told_of() {
        let form = Form::parse(b"a=1&b=&c=x+y%21&a=2&%61=3");
        assert_eq!((form.get("a"), form.get("b"), form.get("c")), (Some("1"), None, Some("x y!")));
        assert!(form.repeats(&["a"]) && form.repeats_any() && !form.repeats(&["b", "c"]));
        assert!(!Form::parse(b"a=1").repeats_any());
    }

    #[test]
    fn parameters_are_bounded() {
        let many: String = (0..100).map(|number| format!("p{number}=1")).collect::<Vec<_>>().join("&");
        assert!(Form::parse(many.as_bytes()).repeats(&["client_id"]));
    }
}

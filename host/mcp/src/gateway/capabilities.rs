//! What a client declared that it can do, as far as servers are told of it.

use std::fmt;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// What of roots, sampling and elicitation a client offers. Servers answer with other lists to other sets, so clients of
/// one set share servers and others do not. What is not in here is not bridged, and servers are not told of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "a set of independent capabilities")]
pub(crate) struct CapabilitySet {
    /// `roots`.
    roots: bool,
    /// `roots.listChanged`: the client tells of changes.
    roots_changes: bool,
    /// `sampling`.
    sampling: bool,
    /// `sampling.tools` (2025-11-25).
    sampling_tools: bool,
    /// `sampling.context` (2025-11-25).
    sampling_context: bool,
    /// `elicitation.form`, which an empty `elicitation` means as well (2025-06-18).
    elicitation_form: bool,
    /// `elicitation.url` (2025-11-25).
    elicitation_url: bool,
}

impl CapabilitySet {
    /// Reads a `capabilities` object. What is no object is taken as not declared.
    pub(crate) fn read(capabilities: &Value) -> Self {
        let block = |name: &str| capabilities.get(name).and_then(Value::as_object);
        let has = |block: &Object, name: &str| block.get(name).is_some_and(|value| !value.is_null());
        let mut set = Self::default();
        if let Some(roots) = block("roots") {
            set.roots = true;
            set.roots_changes = roots.get("listChanged").and_then(Value::as_bool) == Some(true);
        }
        if let Some(sampling) = block("sampling") {
            set.sampling = true;
            set.sampling_tools = has(sampling, "tools");
            set.sampling_context = has(sampling, "context");
        }
        if let Some(elicitation) = block("elicitation") {
            set.elicitation_url = has(elicitation, "url");
            set.elicitation_form = has(elicitation, "form") || !set.elicitation_url;
        }
        set
    }

    /// Returns the set with sampling, and with tools in it.
    pub(crate) fn with_sampling(self) -> Self {
        Self { sampling: true, sampling_tools: true, ..self }
    }

    fn members(self) -> [(&'static str, bool); 7] {
        [
            ("roots", self.roots),
            ("roots.listChanged", self.roots_changes),
            ("sampling", self.sampling),
            ("sampling.tools", self.sampling_tools),
            ("sampling.context", self.sampling_context),
            ("elicitation.form", self.elicitation_form),
            ("elicitation.url", self.elicitation_url),
        ]
    }

    /// Returns how many capabilities are in it.
    pub(crate) fn count(self) -> usize {
        self.members().iter().filter(|(_, has)| *has).count()
    }

    /// Returns true where a client with these capabilities can do all that a server of the other set may ask.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.members().iter().zip(other.members()).all(|((_, has), (_, wanted))| *has || !wanted)
    }

    /// Returns true where the capability of that name is in it: `roots`, `sampling` or `elicitation`.
    pub(crate) fn has(self, capability: &str) -> bool {
        match capability {
            "roots" => self.roots,
            "sampling" => self.sampling,
            "elicitation" => self.elicitation_form || self.elicitation_url,
            _ => false,
        }
    }

    /// Returns it as the `capabilities` object that a server is told, with those capabilities that are allowed.
    pub(crate) fn declared(self, allowed: impl Fn(&str) -> bool) -> Value {
        let flags = |flags: &[(&str, bool)]| {
            let mut block = Object::new();
            for (name, _) in flags.iter().filter(|(_, has)| *has) {
                block.insert(*name, object! {});
            }
            block
        };
        let mut declared = Object::new();
        if self.roots && allowed("roots") {
            let changes = if self.roots_changes {
                object! { "listChanged" => true }
            } else {
                object! {}
            };
            declared.insert("roots", changes);
        }
        if self.sampling && allowed("sampling") {
            declared.insert("sampling", flags(&[("context", self.sampling_context), ("tools", self.sampling_tools)]));
        }
        if self.has("elicitation") && allowed("elicitation") {
            let modes = flags(&[("form", self.elicitation_form), ("url", self.elicitation_url)]);
            declared.insert("elicitation", modes);
        }
        declared.into()
    }
}

/// For people: `roots, sampling`, or `none`.
impl fmt::Display for CapabilitySet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.members().into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
        formatter.write_str(if names.is_empty() { "none" } else { "" })?;
        formatter.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn set(text: &str) -> CapabilitySet {
        CapabilitySet::read(&parse_str(text).unwrap())
    }

    #[test]
    fn only_what_servers_can_use_makes_a_difference() {
        let bare = set("{}");
        assert_eq!(bare, set(r#"{"tasks":{},"experimental":{"x":1},"roots":null,"sampling":7}"#));
        assert_eq!((bare.count(), bare.to_string().as_str()), (0, "none"));
        assert_eq!(set(r#"{"roots":{"x-vendor":1}}"#), set(r#"{"roots":{}}"#));
        assert_ne!(set(r#"{"roots":{"listChanged":true}}"#), set(r#"{"roots":{}}"#));
        assert_ne!(set(r#"{"sampling":{"tools":{}}}"#), set(r#"{"sampling":{}}"#));
    }

    #[test]
    fn an_empty_elicitation_means_forms() {
        assert_eq!(set(r#"{"elicitation":{}}"#), set(r#"{"elicitation":{"form":{}}}"#));
        let url = set(r#"{"elicitation":{"url":{}}}"#);
        assert_eq!(url.declared(|_| true).to_json(), r#"{"elicitation":{"url":{}}}"#);
        assert!(url.has("elicitation") && !url.covers(set(r#"{"elicitation":{}}"#)));
    }

    #[test]
    fn a_wider_set_covers_a_narrower_one_and_not_the_other_way() {
        let wide = set(r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#);
        let narrow = set(r#"{"roots":{},"sampling":{}}"#);
        assert!(wide.covers(narrow) && narrow.covers(set("{}")) && wide.covers(wide));
        assert!(!narrow.covers(wide));
        assert!(wide.count() > narrow.count());
    }

    #[test]
    fn what_is_declared_reads_as_the_same_set() {
        for text in [
            "{}",
            r#"{"roots":{}}"#,
            r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#,
        ] {
            let declared = set(text).declared(|_| true);
            assert_eq!(declared.to_json(), text);
            assert_eq!(CapabilitySet::read(&declared), set(text));
        }
        assert_eq!(
            set(r#"{"roots":{},"sampling":{}}"#).declared(|name| name != "roots").to_json(),
            r#"{"sampling":{}}"#
        );
    }
}

//! A config as a tree of values that know where they stand.

mod build;
mod scalar;

pub(crate) use build::{Tree, parse};

use portcullis_model::json::{Object, Value};

/// Returns true where a plain scalar is read as that very text.
pub(crate) fn is_plain_text(text: &str) -> bool {
    matches!(scalar::resolve(text), Kind::Text { .. })
}

/// Where something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Line, from 1; 0 where there is none.
    pub(crate) line: usize,
    /// Column in characters, from 1.
    pub(crate) column: usize,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// A plain scalar that is no text in YAML's core schema, with the text it was written in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plain {
    /// `true`, `false` in their spellings.
    Bool(bool),
    /// A finite number.
    Number(f64),
    /// `.nan`, `.inf`, `-.inf`.
    NotFinite,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Empty, `~`, `null`.
    Null,
    /// A boolean or number, and its text.
    Plain(Plain, String),
    /// A text.
    Text {
        /// The text, after interpolation.
        text: String,
        /// True where a variable was put in: it may be a secret and is shown nowhere.
        interpolated: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map. Keys are unique.
    Map(Vec<Member>),
}

/// A member of a map.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

impl Node {
    /// Returns the members, if this is a map.
    pub(crate) fn members(&self) -> Option<&[Member]> {
        if let Kind::Map(members) = &self.kind { Some(members) } else { None }
    }

    /// Returns the text of a scalar as it was written; nothing for null, lists and maps.
    pub(crate) fn scalar_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(_, text) | Kind::Text { text, .. } => Some(text),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Returns true for null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// Returns what the value is, for messages: never a text that a variable was put into, and never much.
    pub(crate) fn shown(&self) -> String {
        const LONGEST: usize = 40;
        match &self.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::Plain(_, text) => format!("`{text}`"),
            Kind::Text { interpolated: true, .. } => "a text with a variable in it".to_owned(),
            Kind::Text { text, .. } if text.chars().count() <= LONGEST => format!("{text:?}"),
            Kind::Text { .. } => "a long text".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
        }
    }

    /// Returns the value without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Plain(plain, text) => scalar::to_value(plain, text),
            Kind::Text { text, .. } => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Kind::Map(members) => {
                let mut object = Object::new();
                for member in members {
                    object.insert(member.key.clone(), member.value.to_value());
                }
                Value::Object(object)
            }
        }
    }
}

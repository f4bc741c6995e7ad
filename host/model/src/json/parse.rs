//! One strict pass from bytes to a value.

use std::collections::HashSet;

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use super::{Number, Object, Value};

/// Bounds of a parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the text.
    pub bytes: usize,
    /// Most levels of arrays and objects.
    pub depth: usize,
}

impl Limits {
    /// The bounds of a message on the wire: 16 MiB as the largest peers send, 64 levels as no honest schema exceeds.
    pub const WIRE: Self = Self { bytes: 16 * 1024 * 1024, depth: 64 };
}

/// What was wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// It is longer than the limit.
    TooLarge,
    /// It nests deeper than the limit.
    TooDeep,
    /// An object has this key twice.
    DuplicateKey(String),
    /// A string holds half a surrogate pair.
    LoneSurrogate,
    /// A string is no UTF-8.
    InvalidUtf8,
    /// Anything else that is no JSON; the parser's word for it.
    Syntax(String),
}

/// Why a text is no value that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {offset}", self.describe())]
pub struct ParseError {
    /// What was wrong.
    pub kind: ParseErrorKind,
    /// Where, in bytes from the start.
    pub offset: usize,
}

impl ParseError {
    fn describe(&self) -> String {
        match &self.kind {
            ParseErrorKind::TooLarge => "the text is too large".to_owned(),
            ParseErrorKind::TooDeep => "the value nests too deeply".to_owned(),
            ParseErrorKind::DuplicateKey(_) => "an object has the same key twice".to_owned(),
            ParseErrorKind::LoneSurrogate => "a string has half a surrogate pair".to_owned(),
            ParseErrorKind::InvalidUtf8 => "the text is not UTF-8".to_owned(),
            ParseErrorKind::Syntax(word) => format!("not JSON: {word}"),
        }
    }
}

/// Parses a message of the wire.
pub fn parse(bytes: &[u8]) -> Result<Value, ParseError> {
    parse_with(bytes, Limits::WIRE)
}

/// Parses a text under the limits of the wire.
pub fn parse_str(text: &str) -> Result<Value, ParseError> {
    parse(text.as_bytes())
}

/// Parses under the given limits.
pub fn parse_with(bytes: &[u8], limits: Limits) -> Result<Value, ParseError> {
    if bytes.len() > limits.bytes {
        return Err(ParseError { kind: ParseErrorKind::TooLarge, offset: limits.bytes });
    }
    let mut reader = Reader { jiter: Jiter::new(bytes), depth: limits.depth };
    let peek = reader.jiter.peek().map_err(|error| translate(&error))?;
    let value = reader.value(peek)?;
    reader.jiter.finish().map_err(|error| translate(&error))?;
    Ok(value)
}

fn translate(error: &JiterError) -> ParseError {
    let kind = match &error.error_type {
        JiterErrorType::JsonError(JsonErrorType::LoneLeadingSurrogateInHexEscape) => ParseErrorKind::LoneSurrogate,
        JiterErrorType::JsonError(JsonErrorType::InvalidUnicodeCodePoint) => ParseErrorKind::InvalidUtf8,
        JiterErrorType::JsonError(_) | JiterErrorType::WrongType { .. } => {
            ParseErrorKind::Syntax(error.error_type.to_string())
        }
    };
    ParseError { kind, offset: error.index }
}

struct Reader<'a> {
    jiter: Jiter<'a>,
    /// Levels that may still be opened.
    depth: usize,
}

impl Reader<'_> {
    fn fail<T>(&self, kind: ParseErrorKind) -> Result<T, ParseError> {
        Err(ParseError { kind, offset: self.jiter.current_index() })
    }

    fn value(&mut self, peek: Peek) -> Result<Value, ParseError> {
        match peek {
            Peek::Null => self.jiter.known_null().map(|()| Value::Null),
            Peek::True | Peek::False => self.jiter.known_bool(peek).map(Value::Bool),
            Peek::String => self.jiter.known_str().map(|text| Value::String(text.to_owned())),
            Peek::Array => return self.nested(Self::array),
            Peek::Object => return self.nested(Self::object),
            _ => return self.number(peek),
        }
        .map_err(|error| translate(&error))
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, ParseError>) -> Result<Value, ParseError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return self.fail(ParseErrorKind::TooDeep);
        };
        self.depth = depth;
        let value = inner(self)?;
        self.depth += 1;
        Ok(value)
    }

    fn number(&mut self, peek: Peek) -> Result<Value, ParseError> {
        if !peek.is_num() {
            return self.fail(ParseErrorKind::Syntax("expected a value".to_owned()));
        }
        let bytes = self.jiter.known_number_bytes(peek).map_err(|error| translate(&error))?;
        // The parser's numbers are ASCII; `NaN` and `Infinity` are off by default.
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Number(Number::from_parsed(text))),
            Err(_) => self.fail(ParseErrorKind::InvalidUtf8),
        }
    }

    fn array(&mut self) -> Result<Value, ParseError> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array().map_err(|error| translate(&error))?;
        while let Some(peek) = next {
            items.push(self.value(peek)?);
            next = self.jiter.array_step().map_err(|error| translate(&error))?;
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, ParseError> {
        let mut members: Vec<(String, Value)> = Vec::new();
        let mut seen = Keys::default();
        let mut next = self.jiter.known_object().map_err(|error| translate(&error))?.map(str::to_owned);
        while let Some(key) = next {
            if !seen.admit(&key, &members) {
                return self.fail(ParseErrorKind::DuplicateKey(key));
            }
            let peek = self.jiter.peek().map_err(|error| translate(&error))?;
            let value = self.value(peek)?;
            members.push((key, value));
            next = self.jiter.next_key().map_err(|error| translate(&error))?.map(str::to_owned);
        }
        Ok(Value::Object(Object::from_unique(members)))
    }
}

/// Tells new keys from seen ones: by comparing while there are few, by hashing once there are many.
#[derive(Default)]
struct Keys {
    hashed: Option<HashSet<String>>,
}

impl Keys {
    /// Comparing against so many keys costs less than hashing one.
    const FEW: usize = 16;

    fn admit(&mut self, key: &str, members: &[(String, Value)]) -> bool {
        if members.len() < Self::FEW {
            return members.iter().all(|(seen, _)| seen != key);
        }
        let hashed = self.hashed.get_or_insert_with(|| members.iter().map(|(seen, _)| seen.clone()).collect());
        hashed.insert(key.to_owned())
    }
}

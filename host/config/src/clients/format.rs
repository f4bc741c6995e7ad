//! The text of a client's config, read and changed in its own format.

use jsonc_parser::ast;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use portcullis_model::json::{Object, Value, parse_str};
use toml_edit::{DocumentMut, Item, Table};

use super::FileFormat;
use crate::ConfigText;

/// The text of a client's config.
#[derive(Clone, Debug)]
pub struct ClientText {
    format: FileFormat,
    text: String,
}

/// A client's config could not be read or changed. It is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientTextError {
    /// It is not of its format. Where and why, without a word of the file.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// What is changed stands in something that is no map.
    #[error("`{0}` is no map of servers")]
    NoMap(String),
    /// After the change it would not read as it should.
    #[error("`{0}` can't be changed without changing more; hint: change it by hand")]
    Entangled(String),
}

impl ClientText {
    /// Takes a text. An empty one is an empty config.
    ///
    /// # Errors
    /// It is not of the format.
    pub fn parse(format: FileFormat, text: impl Into<String>) -> Result<Self, ClientTextError> {
        let text = Self { format, text: text.into() };
        text.read()?;
        Ok(text)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the whole as a value; an empty map where the text is empty.
    pub fn to_value(&self) -> Value {
        self.read().unwrap_or_else(|_| Object::new().into())
    }

    /// Sets a member of the map under a key, or removes it. Everything else stays as it is written.
    ///
    /// # Errors
    /// What stands under the key is no map, or the text can't be changed without changing more.
    pub fn put(&mut self, section: &str, name: &str, entry: Option<&Value>) -> Result<(), ClientTextError> {
        let mut wanted = self.read()?;
        apply(&mut wanted, section, name, entry).ok_or_else(|| ClientTextError::NoMap(section.to_owned()))?;
        let entangled = || ClientTextError::Entangled(format!("{section}.{name}"));
        let text = match self.format {
            FileFormat::Json => put_json(&self.text, section, name, entry),
            FileFormat::Toml => put_toml(&self.text, section, name, entry),
            FileFormat::Yaml => put_yaml(&self.text, section, name, entry),
        };
        let changed = Self { format: self.format, text: text.ok_or_else(entangled)? };
        // Members may have moved: TOML has an order of its own. And it does not write a map without members.
        let meaning = |mut value: Value| {
            let is_empty = value.get(section).and_then(Value::as_object).is_some_and(Object::is_empty);
            if let Some(object) = value.as_object_mut().filter(|_| is_empty) {
                object.remove(section);
            }
            value.to_canonical()
        };
        if changed.read().ok().map(meaning) != Some(meaning(wanted)) {
            return Err(entangled());
        }
        *self = changed;
        Ok(())
    }

    fn read(&self) -> Result<Value, ClientTextError> {
        let unreadable = |message: String| ClientTextError::Unreadable(message);
        let value = match self.format {
            FileFormat::Json => {
                let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
                let parsed = parse_to_ast(text, &CollectOptions::default(), &json_options());
                let parsed = parsed.map_err(|error| {
                    unreadable(format!(
                        "{}, line {} column {}",
                        error.kind(),
                        error.line_display(),
                        error.column_display()
                    ))
                })?;
                parsed.value.map_or(Ok(Value::Null), |value| json_value(&value))?
            }
            FileFormat::Toml => {
                let document: DocumentMut = self.text.parse().map_err(|error: toml_edit::TomlError| {
                    let line = error.span().map_or(0, |span| {
                        self.text.get(..span.start).map_or(0, |before| before.matches('\n').count() + 1)
                    });
                    unreadable(format!("{}, line {line}", error.message()))
                })?;
                table_value(document.as_table())
            }
            FileFormat::Yaml => {
                ConfigText::parse(self.text.as_str()).map_err(|error| unreadable(error.to_string()))?.to_value()
            }
        };
        match value {
            Value::Null => Ok(Object::new().into()),
            Value::Object(_) => Ok(value),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(unreadable("it is no map".to_owned()))
            }
        }
    }
}

fn apply(root: &mut Value, section: &str, name: &str, entry: Option<&Value>) -> Option<()> {
    let root = root.as_object_mut()?;
    if root.get(section).is_none_or(Value::is_null) {
        if entry.is_none() {
            return Some(());
        }
        root.insert(section, Object::new());
    }
    let section = root.get_mut(section)?.as_object_mut()?;
    match entry {
        Some(entry) => section.insert(name, entry.clone()),
        None => section.remove(name),
    };
    Some(())
}

/// What editors take: comments and trailing commas, and nothing else that JSON does not have.
fn json_options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn json_value(value: &ast::Value<'_>) -> Result<Value, ClientTextError> {
    Ok(match value {
        ast::Value::StringLit(text) => Value::from(text.value.as_ref()),
        ast::Value::NumberLit(number) => parse_str(number.value).unwrap_or_else(|_| Value::from(number.value)),
        ast::Value::BooleanLit(value) => value.value.into(),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(json_value).collect::<Result<Vec<_>, _>>()?.into(),
        ast::Value::Object(object) => {
            let mut members = Object::new();
            for property in &object.properties {
                let name = property.name.as_str();
                if members.insert(name, json_value(&property.value)?).is_some() {
                    // Which of the two counts differs from client to client.
                    return Err(ClientTextError::Unreadable(format!("the key {name:?} is written twice")));
                }
            }
            members.into()
        }
    })
}

fn cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.as_str().to_owned()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(cst_value).collect()),
        Value::Object(object) => {
            CstInputValue::Object(object.iter().map(|(key, value)| (key.to_owned(), cst_value(value))).collect())
        }
    }
}

fn put_json(text: &str, section: &str, name: &str, entry: Option<&Value>) -> Option<String> {
    let (bom, body) = text.strip_prefix('\u{feff}').map_or(("", text), |body| ("\u{feff}", body));
    let root = CstRootNode::parse(body, &json_options()).ok()?;
    let object = root.object_value_or_create()?;
    if object.get(section).and_then(|member| member.value()).is_some_and(|value| value.as_null_keyword().is_some()) {
        object.get(section)?.remove();
    }
    let section: CstObject = match entry {
        Some(_) => object.object_value_or_create(section)?,
        None => match object.object_value(section) {
            Some(section) => section,
            None => return Some(text.to_owned()),
        },
    };
    match (section.get(name), entry) {
        (Some(member), Some(entry)) => member.set_value(cst_value(entry)),
        (Some(member), None) => member.remove(),
        (None, Some(entry)) => {
            section.append(name, cst_value(entry));
        }
        (None, None) => {}
    }
    Some(format!("{bom}{root}"))
}

fn table_value(table: &Table) -> Value {
    let mut object = Object::new();
    for (key, item) in table {
        object.insert(key, item_value(item));
    }
    object.into()
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => toml_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_value).collect::<Vec<_>>().into(),
    }
}

fn toml_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            portcullis_model::json::Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(toml_value).collect::<Vec<_>>().into(),
        toml_edit::Value::InlineTable(table) => {
            let mut object = Object::new();
            for (key, value) in table {
                object.insert(key, toml_value(value));
            }
            object.into()
        }
    }
}

/// Returns a value as TOML has it. Nothing for null, which TOML does not have.
fn to_toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(to_toml).collect::<Option<toml_edit::Array>>()?.into(),
        Value::Object(object) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in object.iter() {
                table.insert(key, to_toml(value)?);
            }
            table.into()
        }
    })
}

fn put_toml(text: &str, section: &str, name: &str, entry: Option<&Value>) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    if let Some(entry) = entry {
        let mut table = Table::new();
        for (key, value) in entry.as_object()?.iter() {
            table.insert(key, Item::Value(to_toml(value)?));
        }
        if document.get(section).is_none() {
            let mut servers = Table::new();
            servers.set_implicit(true);
            document.insert(section, Item::Table(servers));
        }
        document.get_mut(section)?.as_table_like_mut()?.insert(name, Item::Table(table));
    } else if let Some(servers) = document.get_mut(section) {
        servers.as_table_like_mut()?.remove(name);
    }
    Some(document.to_string())
}

fn put_yaml(text: &str, section: &str, name: &str, entry: Option<&Value>) -> Option<String> {
    let mut config = ConfigText::parse(text).ok()?;
    match entry {
        Some(entry) => config.set(&[section, name], entry).ok()?,
        None if config.to_value().get(section).is_some_and(|servers| servers.get(name).is_some()) => {
            config.remove(&[section, name]).ok()?;
        }
        None => {}
    }
    Some(config.as_str().to_owned())
}

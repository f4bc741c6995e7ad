//! One change, to a value and to the text that it is written in.

use portcullis_model::json::{Object, Value};

use super::render::{Layout, block_member, block_value, json, json_member, nested};
use super::spans::{Entry, Map, Shape, Spot};

/// Sets what a way of keys leads to. Returns false where something on the way is no map.
pub(super) fn set_in_value(root: &mut Value, path: &[&str], value: &Value) -> bool {
    let Some((key, rest)) = path.split_first() else {
        *root = value.clone();
        return true;
    };
    if root.is_null() {
        *root = Object::new().into();
    }
    let Some(object) = root.as_object_mut() else {
        return false;
    };
    if !object.contains_key(key) {
        object.insert(*key, Value::Null);
    }
    object.get_mut(key).is_some_and(|member| set_in_value(member, rest, value))
}

/// Removes what a way of keys leads to. Returns false where there is none.
pub(super) fn remove_from_value(root: &mut Value, path: &[&str]) -> bool {
    let (Some((key, rest)), Some(object)) = (path.split_first(), root.as_object_mut()) else {
        return false;
    };
    if rest.is_empty() {
        return object.remove(key).is_some();
    }
    object.get_mut(key).is_some_and(|member| remove_from_value(member, rest))
}

/// Returns the text with a value set. Nothing where it is written in a way that this does not know.
pub(super) fn set(text: &str, root: Option<&Spot>, path: &[&str], value: &Value) -> Option<String> {
    let editor = Editor { text };
    let Some(root) = root.filter(|root| !editor.is_nothing(root)) else {
        let (key, rest) = path.split_first()?;
        let member = block_member(key, &nested(rest, value), editor.layout(""));
        let end = text.trim_end_matches(['\n', '\r']).len();
        let before = if end == 0 { "" } else { editor.line_break() };
        // The rest of the file is comments.
        return Some(format!("{}{before}{member}{}", text.get(..end)?, editor.line_break()));
    };
    let Shape::Map(map) = &root.shape else {
        return None;
    };
    editor.set(root, map, path, value)
}

/// Returns the text without a member.
pub(super) fn remove(text: &str, root: &Spot, path: &[&str]) -> Option<String> {
    let editor = Editor { text };
    let (mut spot, mut parent, mut rest) = (root, None, path);
    loop {
        let Shape::Map(map) = &spot.shape else {
            return None;
        };
        let (key, below) = rest.split_first()?;
        let position = map.entries.iter().position(|entry| entry.key == **key)?;
        let entry = map.entries.get(position)?;
        if below.is_empty() {
            return editor.remove(map, position, parent);
        }
        (spot, parent, rest) = (&entry.value, Some(entry), below);
    }
}

struct Editor<'a> {
    text: &'a str,
}

impl<'a> Editor<'a> {
    fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn layout<'l>(&self, indent: &'l str) -> Layout<'l> {
        Layout { indent, line_break: self.line_break() }
    }

    /// Returns the text with a range replaced.
    fn replaced(&self, from: usize, to: usize, with: &str) -> Option<String> {
        Some(format!("{}{with}{}", self.text.get(..from)?, self.text.get(to..)?))
    }

    /// Returns true for nothing, in whichever way it is written.
    fn is_nothing(&self, spot: &Spot) -> bool {
        let written = self.text.get(spot.start..spot.end).unwrap_or_default();
        match spot.shape {
            Shape::Empty => true,
            Shape::Whole => matches!(written, "~" | "null" | "Null" | "NULL"),
            Shape::Map(_) => false,
        }
    }

    /// Returns what stands on a line before a position; nothing where that is more than space.
    fn indent(&self, at: usize) -> Option<&'a str> {
        let before = self.text.get(..at)?;
        let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..)?;
        let line = line.trim_start_matches('\u{feff}');
        line.chars().all(|one| matches!(one, ' ' | '\t')).then_some(line)
    }

    /// Returns where the line of a position ends, before its line break.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.find('\n').map_or(rest, |end| rest.get(..end).unwrap_or_default());
        at + line.trim_end_matches('\r').len()
    }

    fn set(&self, spot: &Spot, map: &Map, path: &[&str], value: &Value) -> Option<String> {
        let (key, rest) = path.split_first()?;
        let Some(entry) = map.entries.iter().find(|entry| entry.key == **key) else {
            return self.insert(spot, map, key, &nested(rest, value));
        };
        if rest.is_empty() {
            return self.replace(map, entry, value);
        }
        match &entry.value.shape {
            // A map that is written `{}` between lines becomes lines.
            Shape::Map(inner) if inner.entries.is_empty() && !map.flow => {
                self.replace(map, entry, &nested(rest, value))
            }
            Shape::Map(inner) => self.set(&entry.value, inner, rest, value),
            Shape::Empty | Shape::Whole if self.is_nothing(&entry.value) => {
                self.replace(map, entry, &nested(rest, value))
            }
            Shape::Empty | Shape::Whole => None,
        }
    }

    fn replace(&self, map: &Map, entry: &Entry, value: &Value) -> Option<String> {
        let written = if map.flow {
            let indent = self.indent(entry.start).unwrap_or_default();
            format!(" {}", json(value, self.step(indent), self.layout(indent)))
        } else {
            block_value(value, self.layout(self.indent(entry.start)?))
        };
        self.replaced(entry.colon, entry.end(), &written)
    }

    /// Returns what one level adds, in a file whose member stands behind `indent`.
    fn step(&self, indent: &str) -> &'static str {
        let lines = self.text.lines().map(|line| line.get(..line.len() - line.trim_start().len()).unwrap_or_default());
        let least = lines.filter(|space| !space.is_empty()).min_by_key(|space| space.len());
        match least {
            Some(space) if space.starts_with('\t') || indent.starts_with('\t') => "\t",
            Some(space) if space.len() >= 4 => "    ",
            Some(_) | None => "  ",
        }
    }

    fn insert(&self, spot: &Spot, map: &Map, key: &str, value: &Value) -> Option<String> {
        let Some(last) = map.entries.last() else {
            // `{}` inside `{…}`, or alone.
            let outer = self.line_indent(spot.start);
            let step = self.step(outer);
            let indent = format!("{outer}{step}");
            let member = json_member(key, value, step, self.layout(&indent));
            let line_break = self.line_break();
            return self.replaced(
                spot.start,
                spot.end,
                &format!("{{{line_break}{indent}{member}{line_break}{outer}}}"),
            );
        };
        if !map.flow {
            let indent = self.indent(map.entries.first()?.start)?;
            let member = block_member(key, value, self.layout(indent));
            let at = self.line_end(last.end());
            return self.replaced(at, at, &format!("{}{indent}{member}", self.line_break()));
        }
        let behind = self.text.get(last.end()..)?;
        let comma = behind.trim_start().starts_with(',').then(|| behind.find(',')).flatten();
        let (at, before) = comma.map_or((last.end(), ","), |comma| (last.end() + comma + 1, ""));
        let written = match self.indent(last.start) {
            Some(indent) => {
                let member = json_member(key, value, self.step(indent), self.layout(indent));
                format!("{before}{}{indent}{member}", self.line_break())
            }
            None => format!("{before} {}: {}", Value::from(key).to_json(), value.to_json()),
        };
        self.replaced(at, at, &written)
    }

    /// Returns the space that the line of a position begins with.
    fn line_indent(&self, at: usize) -> &'a str {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
    }

    fn remove(&self, map: &Map, position: usize, parent: Option<&Entry>) -> Option<String> {
        let entry = map.entries.get(position)?;
        if map.flow {
            let previous = position.checked_sub(1).and_then(|previous| map.entries.get(previous));
            let (from, to) = match (previous, map.entries.get(position + 1)) {
                (Some(previous), _) => (previous.end(), entry.end()),
                (None, Some(next)) => (entry.start, next.start),
                (None, None) => {
                    // With the comma that may stand behind it.
                    let behind = self.text.get(entry.end()..)?;
                    let comma = behind.trim_start().starts_with(',').then(|| behind.find(',')).flatten();
                    (entry.start, entry.end() + comma.map_or(0, |comma| comma + 1))
                }
            };
            return self.replaced(from, to, "");
        }
        let indent = self.indent(entry.start)?;
        let end = self.line_end(entry.end());
        let break_length = self.text.get(end..)?.find('\n').map_or(0, |at| at + 1);
        // The last line of a file may end without a line break; then the one before it goes.
        let mut from = entry.start - indent.len();
        if break_length == 0 {
            from = self.text.get(..from)?.trim_end_matches('\n').trim_end_matches('\r').len();
        }
        let without = self.replaced(from, end + break_length, "")?;
        match parent {
            // A map without members is written as one: a key alone would be nothing.
            Some(parent) if map.entries.len() == 1 => {
                let (before, behind) = (without.get(..parent.colon)?, without.get(parent.colon..)?);
                Some(format!("{before} {{}}{behind}"))
            }
            Some(_) | None => Some(without),
        }
    }
}

//! Arguments, in the forms that people write them.

use portcullis_model::json::{self, Value};

use crate::diagnostic::DiagnosticKind;
use crate::fields::wrong_type;
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::tree::{Kind, Node};

/// Reads arguments. A list is taken item by item, numbers and booleans as they are written; a text that begins with a
/// bracket must be a JSON list; any other text is split as a shell would; a number or boolean is one argument.
pub(super) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> Vec<String> {
    match &node.kind {
        Kind::Null => Vec::new(),
        Kind::Plain(_, text) => vec![text.clone()],
        Kind::List(items) => {
            items.iter().enumerate().filter_map(|(index, item)| one(item, &path.index(index), sink)).collect()
        }
        Kind::Map(_) => {
            sink.push(path, node.place, wrong_type("a list of arguments", node));
            Vec::new()
        }
        Kind::Text { text, .. } => match split(text) {
            Ok(arguments) => arguments,
            Err(mistake) => {
                sink.push(path, node.place, mistake);
                Vec::new()
            }
        },
    }
}

fn one(item: &Node, path: &KeyPath, sink: &mut Sink) -> Option<String> {
    match item.scalar_text() {
        Some(text) if text.contains('\0') => {
            sink.push(path, item.place, Mistake::error(DiagnosticKind::BadValue, "an argument can't have a NUL"));
            None
        }
        Some(text) => Some(text.to_owned()),
        None => {
            sink.push(path, item.place, wrong_type("a text", item));
            None
        }
    }
}

fn split(text: &str) -> Result<Vec<String>, Mistake> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['[', '{']) {
        return shell_words::split(trimmed).map_err(|_| {
            Mistake::error(DiagnosticKind::BadValue, "a quote in the arguments is not closed")
                .hint("write the arguments as a list, one item each")
        });
    }
    let not_a_list = || {
        Mistake::error(DiagnosticKind::BadValue, "a text that begins with a bracket must be a JSON list")
            .hint("write the arguments as a list, one item each")
    };
    let Ok(Value::Array(items)) = json::parse_str(trimmed) else {
        return Err(not_a_list());
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.as_str().to_owned()),
            Value::Bool(value) => Ok(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => Err(not_a_list()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    fn arguments(text: &str) -> (Vec<String>, usize) {
        let mut sink = Sink::new("c.yaml");
        let read = read(&tree::parse(text).root.unwrap(), &KeyPath::default(), &mut sink);
        (read, sink.finish().len())
    }

    #[test]
    fn items_that_are_no_texts_are_taken_as_they_are_written() {
        let expected: Vec<String> = ["-p", "8080", "1.50", "True", "007"].map(str::to_owned).into();
        assert_eq!(arguments("[-p, 8080, 1.50, True, 007]"), (expected, 0));
    }

    #[test]
    fn a_single_text_is_split_as_a_shell_would() {
        assert_eq!(arguments("-y \"some pkg\" 'a b'").0, ["-y", "some pkg", "a b"]);
        assert_eq!(arguments("'[\"a\", 1]'").0, ["a", "1"]);
        assert_eq!(arguments("8080").0, ["8080"]);
    }

    #[test]
    fn what_can_not_be_arguments_is_one_mistake_each() {
        for text in ["'a \"b'", "'[1, 2'", "{a: 1}", "[[a]]", "'{\"a\": 1}'", "[~]"] {
            assert_eq!(arguments(text), (Vec::new(), 1), "{text}");
        }
    }
}

//! From text to tree, under bounds.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::{Kind, Member, Node, Place, scalar};
use crate::diagnostic::DiagnosticKind;
use crate::key_path::KeyPath;
use crate::sink::Mistake;

/// Most bytes of a config: fifty times the largest found in public repositories.
const MOST_BYTES: usize = 1024 * 1024;
/// Most weight of a config, what aliases stand for included: an alias bomb ends here. A value weighs one and one more for
/// each [`TEXT_PER_NODE`] bytes of its text; two hundred large servers weigh 6,000.
const MOST_WEIGHT: usize = 20_000;
/// Bytes of text that weigh as much as a value, so that copies of a long text count.
const TEXT_PER_NODE: usize = 256;
/// Deepest nesting. The deepest documented key is at level 6.
const DEEPEST: usize = 32;

/// A mistake found while the tree was built, and the keys that lead to it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) keys: Vec<String>,
    pub(crate) path: KeyPath,
    pub(crate) place: Place,
    pub(crate) mistake: Mistake,
}

/// What a text became.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The root; nothing where the text is empty or could not be read.
    pub(crate) root: Option<Node>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads YAML or JSON.
pub(crate) fn parse(text: &str) -> Tree {
    if text.len() > MOST_BYTES {
        return Tree { root: None, problems: vec![whole(too_large(format!("the file is over {MOST_BYTES} bytes")))] };
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let joined = join_surrogates(text);
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(&joined);
    let outcome = builder.run(&mut parser);
    let root = match outcome {
        Ok(()) => builder.root,
        Err((place, mistake)) => {
            // A tree that was cut off could lack what makes a server safe, so nothing of it is used.
            builder.problems.push(Problem { keys: Vec::new(), path: KeyPath::default(), place, mistake });
            None
        }
    };
    Tree { root, problems: builder.problems }
}

fn whole(mistake: Mistake) -> Problem {
    Problem { keys: Vec::new(), path: KeyPath::default(), place: Place::default(), mistake }
}

fn too_large(message: impl Into<String>) -> Mistake {
    Mistake::error(DiagnosticKind::TooLarge, message)
}

/// JSON writes characters beyond the basic plane as two escapes, YAML as one.
fn join_surrogates(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find("\\u") {
        let (before, escape) = rest.split_at(position);
        joined.push_str(before);
        let unit = |from: usize| escape.get(from..from + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let second = (escape.get(6..8) == Some("\\u")).then(|| unit(8)).flatten();
        let pair = unit(2).zip(second).and_then(|(high, low)| char::decode_utf16([high, low]).next());
        match pair {
            Some(Ok(character)) if character > '\u{ffff}' => {
                let long = format!("\\U{:08X}", u32::from(character));
                joined.push_str(&long);
                rest = escape.get(12..).unwrap_or_default();
            }
            Some(_) | None => {
                joined.push_str("\\u");
                rest = escape.get(2..).unwrap_or_default();
            }
        }
    }
    joined.push_str(rest);
    joined
}

/// A list or map that is not closed yet.
#[derive(Debug)]
struct Open {
    place: Place,
    anchor: usize,
    path: KeyPath,
    keys: Vec<String>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    List(Vec<Node>),
    Map { members: Vec<Member>, merges: Vec<Node>, key: Option<(String, Place)> },
}

#[derive(Debug, Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    weight: usize,
    documents: usize,
    root: Option<Node>,
    problems: Vec<Problem>,
}

type Failure = (Place, Mistake);

impl Builder {
    fn run(&mut self, parser: &mut Parser<'_, StrInput<'_>>) -> Result<(), Failure> {
        while let Some(next) = parser.next_event() {
            let (event, span) = next.map_err(|error| {
                let marker = error.marker();
                let place = Place { line: marker.line(), column: marker.col() + 1 };
                (place, Mistake::error(DiagnosticKind::Syntax, format!("not valid YAML: {}", error.info())))
            })?;
            if !self.event(event, span)? {
                break;
            }
        }
        Ok(())
    }

    /// Takes an event. Returns false where nothing after it counts.
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<bool, Failure> {
        let place = Place { line: span.start.line(), column: span.start.col() + 1 };
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "only the first YAML document of the file is read";
                    let mistake = Mistake::warning(DiagnosticKind::Syntax, message);
                    self.problems.push(Problem { keys: Vec::new(), path: KeyPath::default(), place, mistake });
                    return Ok(false);
                }
            }
            Event::Alias(anchor) => self.alias(anchor, place)?,
            Event::Scalar(text, style, anchor, tag) => {
                let node = Node { place, kind: scalar_kind(&text, style, tag.as_deref()) };
                let weight = weight(&node);
                self.count(weight, place)?;
                self.take(node, anchor, weight)?;
            }
            Event::SequenceStart(anchor, _) => self.start(place, anchor, Content::List(Vec::new()))?,
            Event::MappingStart(anchor, _) => {
                self.start(place, anchor, Content::Map { members: Vec::new(), merges: Vec::new(), key: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(true)
    }

    fn count(&mut self, weight: usize, place: Place) -> Result<(), Failure> {
        self.weight += weight;
        if self.weight > MOST_WEIGHT {
            return Err((place, too_large(format!("the file has over {MOST_WEIGHT} values, aliases included"))));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Failure> {
        let Some((node, weight)) = self.anchors.get(&anchor) else {
            let message = "an alias stands inside the value that it names";
            return Err((place, Mistake::error(DiagnosticKind::Syntax, message)));
        };
        let (node, weight) = (node.clone(), *weight);
        if self.open.len() + depth(&node) > DEEPEST {
            return Err((place, too_large(format!("the file nests deeper than {DEEPEST} levels"))));
        }
        self.count(weight, place)?;
        self.take(node, 0, weight)
    }

    fn start(&mut self, place: Place, anchor: usize, content: Content) -> Result<(), Failure> {
        if self.open.len() >= DEEPEST {
            return Err((place, too_large(format!("the file nests deeper than {DEEPEST} levels"))));
        }
        self.count(1, place)?;
        let (path, keys) = self.next_path();
        self.open.push(Open { place, anchor, path, keys, content });
        Ok(())
    }

    /// Returns the path of the value that comes next.
    fn next_path(&self) -> (KeyPath, Vec<String>) {
        let Some(parent) = self.open.last() else {
            return (KeyPath::default(), Vec::new());
        };
        let mut keys = parent.keys.clone();
        match &parent.content {
            Content::List(items) => {
                keys.push(items.len().to_string());
                (parent.path.index(items.len()), keys)
            }
            Content::Map { key: Some((key, _)), .. } => {
                keys.push(key.clone());
                (parent.path.key(key), keys)
            }
            Content::Map { key: None, .. } => (parent.path.clone(), keys),
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let kind = match open.content {
            Content::List(items) => Kind::List(items),
            Content::Map { mut members, merges, .. } => {
                for merged in merges {
                    merge(&mut members, merged);
                }
                Kind::Map(members)
            }
        };
        let node = Node { place: open.place, kind };
        let weight = if open.anchor > 0 { weight(&node) } else { 0 };
        self.take(node, open.anchor, weight)
    }

    /// Puts a finished value in its place.
    fn take(&mut self, node: Node, anchor: usize, weight: usize) -> Result<(), Failure> {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
            self.count(weight, node.place)?;
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let place = node.place;
        match &mut parent.content {
            Content::List(items) => items.push(node),
            Content::Map { members, merges, key } => match key.take() {
                None => match node.scalar_text() {
                    Some(text) => *key = Some((text.to_owned(), place)),
                    None if node.is_null() => *key = Some((String::new(), place)),
                    None => {
                        return Err((
                            place,
                            Mistake::error(DiagnosticKind::Syntax, "a key must be a single word or text"),
                        ));
                    }
                },
                Some((text, _)) if text == "<<" => match node.kind {
                    Kind::List(items) => merges.extend(items),
                    Kind::Map(_) | Kind::Null | Kind::Plain(..) | Kind::Text { .. } => merges.push(node),
                },
                Some((text, key_place)) => {
                    if members.iter().any(|member| member.key == text) {
                        let mut keys = parent.keys.clone();
                        keys.push(text.clone());
                        let path = parent.path.key(&text);
                        let mistake = Mistake::error(DiagnosticKind::DuplicateKey, "this key is written twice")
                            .hint("keep one of the two: which one counts would be a guess");
                        self.problems.push(Problem { keys, path, place: key_place, mistake });
                    } else {
                        members.push(Member { key: text, place: key_place, value: node });
                    }
                }
            },
        }
        Ok(())
    }
}

/// Adds the members that are not there yet: what is written wins over what is merged (YAML merge key, `<<`).
fn merge(members: &mut Vec<Member>, merged: Node) {
    let Kind::Map(more) = merged.kind else {
        return;
    };
    for member in more {
        if !members.iter().any(|present| present.key == member.key) {
            members.push(member);
        }
    }
}

fn scalar_kind(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Kind {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if style == ScalarStyle::Plain && !is_text {
        scalar::resolve(text)
    } else {
        Kind::Text { text: text.to_owned(), interpolated: false }
    }
}

fn weight(node: &Node) -> usize {
    let of_text = |text: &str| 1 + text.len() / TEXT_PER_NODE;
    match &node.kind {
        Kind::List(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Kind::Map(members) => {
            1 + members.iter().map(|member| of_text(&member.key) + weight(&member.value)).sum::<usize>()
        }
        Kind::Plain(_, text) | Kind::Text { text, .. } => of_text(text),
        Kind::Null => 1,
    }
}

fn depth(node: &Node) -> usize {
    match &node.kind {
        Kind::List(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Kind::Map(members) => 1 + members.iter().map(|member| depth(&member.value)).max().unwrap_or_default(),
        Kind::Null | Kind::Plain(..) | Kind::Text { .. } => 0,
    }
}

#[cfg(test)]
mod tests;

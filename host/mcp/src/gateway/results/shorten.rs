//! Leaves out the middle of results that are too large: of each long text the head and the tail stay, short ones stay whole.

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// Of what a text keeps, so many percent are its head; the end of a log or a listing says more than its middle.
const HEAD: usize = 40;

/// A text is not cut below this size: a marker and a few words would say nothing.
const SHORTEST: usize = 512;

/// How a result is made small enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Texts of more bytes than this are cut to it.
    Texts(usize),
    /// There are too many texts for that: lists are cut too, and structured content becomes a text.
    Lists(usize),
}

impl Plan {
    /// Returns how a result with more than `most` bytes of text is made small enough; nothing for any other.
    pub(super) fn of(result: &Value, most: usize) -> Option<Self> {
        let mut lengths = Vec::new();
        each_text(result, &mut |text| lengths.push(text.len()));
        if lengths.iter().sum::<usize>() <= most {
            return None;
        }
        let share = share(lengths, most);
        Some(if share >= SHORTEST { Self::Texts(share) } else { Self::Lists(most) })
    }

    /// Shortens the result. `kept` says whether there is a full copy.
    pub(super) fn carry_out(self, result: &mut Value, kept: bool) {
        match self {
            Self::Texts(share) => each_text_mut(result, &mut |text| cut(text, share, kept)),
            Self::Lists(most) => {
                cut_lists(result, most, kept);
                // What is left is few enough texts, or one.
                if let Some(Self::Texts(share)) = Self::of(result, most) {
                    each_text_mut(result, &mut |text| cut(text, share, kept));
                }
            }
        }
    }
}

/// Returns the size to which texts are cut so that all together have `most` bytes: short ones leave room to long ones.
fn share(mut lengths: Vec<usize>, most: usize) -> usize {
    lengths.sort_unstable();
    let (mut room, mut left) = (most, lengths.len());
    for length in lengths {
        if length > room / left {
            return room / left;
        }
        room -= length;
        left -= 1;
    }
    most
}

fn cut(text: &mut String, share: usize, kept: bool) {
    if text.len() <= share {
        return;
    }
    let head = text.floor_char_boundary(share * HEAD / 100);
    let tail = text.ceil_char_boundary(text.len() - share * (100 - HEAD) / 100);
    let marker = marker(tail - head, "bytes", kept);
    text.replace_range(head..tail, &marker);
}

fn marker(left_out: usize, of: &str, kept: bool) -> String {
    let copy = if kept { "the operator has a full copy" } else { "no copy of it is kept" };
    format!("\n[shortened by portcullis: {left_out} {of} are left out here; {copy}; ask for less at once]\n")
}

/// Cuts the lists of content to their head and tail, and makes one text of structured content.
fn cut_lists(result: &mut Value, most: usize, kept: bool) {
    let Some(result) = result.as_object_mut() else { return };
    for name in ["content", "contents", "messages"] {
        if let Some(Value::Array(items)) = result.get_mut(name) {
            let head = fitting(items.iter(), most * HEAD / 100);
            let tail = fitting(items.iter().skip(head).rev(), most - most * HEAD / 100);
            let end = items.len() - tail;
            if let Some(first) = items.get(head..end).and_then(<[Value]>::first) {
                let beside = beside(name, first, marker(end - head, "items", kept));
                items.splice(head..end, [beside]);
            }
        }
    }
    if result.get(STRUCTURED).is_some_and(|structured| size(structured, true) > most) {
        let structured = result.remove(STRUCTURED).unwrap_or(Value::Null);
        let has_text = |items: &[Value]| items.iter().any(|item| item.get("text").is_some());
        if !result.get("content").and_then(Value::as_array).is_some_and(has_text) {
            let text: Value = object! { "type" => "text", "text" => structured.to_json() }.into();
            result.insert("content", vec![text]);
        }
    }
}

/// Returns how many of the items fit.
fn fitting<'v>(items: impl Iterator<Item = &'v Value>, mut room: usize) -> usize {
    items
        .map_while(|item| {
            room = room.checked_sub(size(item, false))?;
            Some(())
        })
        .count()
}

/// Returns an item of the list that says what was left out, beginning with `first`.
fn beside(list: &str, first: &Value, marker: String) -> Value {
    match list {
        "contents" => {
            let uri = first.get("uri").cloned().unwrap_or_else(|| Value::from("shortened"));
            object! { "uri" => uri, "mimeType" => "text/plain", "text" => marker }.into()
        }
        "messages" => {
            let role = first.get("role").cloned().unwrap_or_else(|| Value::from("user"));
            object! { "role" => role, "content" => object! { "type" => "text", "text" => marker } }.into()
        }
        _ => object! { "type" => "text", "text" => marker }.into(),
    }
}

/// Returns the bytes of text of a value: of structured content, whatever it holds.
fn size(value: &Value, structured: bool) -> usize {
    if structured {
        return value.to_json().len();
    }
    let mut size = 0;
    walk(value, false, &mut |text| size += text.len());
    size
}

/// Members of results in which a model reads texts (MCP: `tools/call`, `resources/read`, `prompts/get`).
const READ: [&str; 4] = ["content", "contents", "messages", STRUCTURED];

const STRUCTURED: &str = "structuredContent";

/// Calls `look` with each text that a model reads: all strings of structured content, and what content blocks call a text.
/// Media and links are none.
fn each_text(result: &Value, look: &mut impl FnMut(&str)) {
    let members = result.as_object().into_iter().flat_map(Object::iter);
    for (name, value) in members.filter(|(name, _)| READ.contains(name)) {
        walk(value, name == STRUCTURED, look);
    }
}

fn walk(value: &Value, all: bool, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) if all => look(text),
        Value::Array(items) => items.iter().for_each(|item| walk(item, all, look)),
        Value::Object(object) => object.iter().for_each(|(name, member)| walk(member, all || is_text(name), look)),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn each_text_mut(result: &mut Value, change: &mut impl FnMut(&mut String)) {
    let members = result.as_object_mut().into_iter().flat_map(Object::iter_mut);
    for (name, value) in members.filter(|(name, _)| READ.contains(name)) {
        let all = name == STRUCTURED;
        walk_mut(value, all, change);
    }
}

fn walk_mut(value: &mut Value, all: bool, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) if all => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| walk_mut(item, all, change)),
        Value::Object(object) => {
            object.iter_mut().for_each(|(name, member)| walk_mut(member, all || is_text(name), change));
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn is_text(name: &str) -> bool {
    matches!(name, "text" | "description")
}

#[cfg(test)]
mod tests {
    use portcullis_model::json::parse_str;

    use super::*;

    fn shortened(mut result: Value, most: usize) -> Option<Value> {
        Plan::of(&result, most)?.carry_out(&mut result, true);
        Some(result)
    }

    fn text(value: &Value, pointer: &str) -> String {
        value.pointer(pointer).and_then(Value::as_str).unwrap().to_owned()
    }

    fn bytes(value: &Value) -> usize {
        let mut bytes = 0;
        each_text(value, &mut |text| bytes += text.len());
        bytes
    }

    #[test]
    fn a_result_that_fits_is_left_alone() {
        let result = parse_str(r#"{"content":[{"type":"text","text":"abc"}],"structuredContent":{"a":"d"}}"#).unwrap();
        assert_eq!(shortened(result.clone(), 4), None);
        assert!(shortened(result, 3).is_some());
        let other = parse_str(r#"{"arguments":{"text":"abcdef"},"_meta":{"text":"abcdef"}}"#).unwrap();
        assert_eq!(shortened(other, 3), None, "members that are not read as content");
    }

    #[test]
    fn of_a_long_text_head_and_tail_stay_and_short_ones_stay_whole() {
        let long = (0..4_000).fold(String::new(), |long, number| long + &format!("{number:04}ä "));
        let block = |text: &str| Value::from(object! { "type" => "text", "text" => text });
        let image: Value =
            object! { "type" => "image", "data" => "A".repeat(40_000), "mimeType" => "image/png" }.into();
        let blocks = vec![block("short"), block(&long), image.clone()];
        let result =
            shortened(object! { "content" => blocks, "structuredContent" => object! { "k" => "v" } }.into(), 10_000)
                .unwrap();
        assert_eq!(text(&result, "/content/0/text"), "short");
        assert_eq!(text(&result, "/structuredContent/k"), "v");
        assert_eq!(result.pointer("/content/2"), Some(&image));
        let cut = text(&result, "/content/1/text");
        let (head, rest) = cut.split_once("\n[shortened by portcullis: ").unwrap();
        let (marker, tail) = rest.split_once("]\n").unwrap();
        assert!(long.starts_with(head) && long.ends_with(tail) && marker.contains("full copy"), "{marker}");
        let left_out: usize = marker.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(head.len() + left_out + tail.len(), long.len());
        assert!(head.len() * 3 < tail.len() * 2 + 30 && tail.len() * 2 < head.len() * 3 + 30, "40 % and 60 %");
        assert!(bytes(&result) < 10_200);
    }

    #[test]
    fn of_too_many_texts_the_first_and_last_items_stay() {
        let block = |number: usize| Value::from(object! { "type" => "text", "text" => format!("{number:0100}") });
        let rows: Vec<Value> = (0..1_000).map(|number| Value::from(format!("{number:0100}"))).collect();
        let blocks: Vec<Value> = (0..1_000).map(block).collect();
        let result = shortened(object! { "content" => blocks, "structuredContent" => rows }.into(), 20_000).unwrap();
        assert!(bytes(&result) < 20_200, "{}", bytes(&result));
        let items = result.get("content").and_then(Value::as_array).unwrap();
        assert_eq!((&items[0], items.last().unwrap()), (&block(0), &block(999)));
        assert!(items.iter().any(|item| item.to_json().contains("items are left out")));
        assert_eq!(result.get("structuredContent"), None);
    }

    #[test]
    fn structured_content_of_too_many_words_is_passed_on_as_a_text() {
        let rows: Vec<Value> = (0..5_000).map(|number| Value::from(number.to_string())).collect();
        let result =
            shortened(object! { "content" => Vec::<Value>::new(), "structuredContent" => rows }.into(), 10_000)
                .unwrap();
        let words = text(&result, "/content/0/text");
        assert!(words.starts_with(r#"["0","1","#) && words.ends_with(r#""4999"]"#) && words.len() < 10_200);
        assert_eq!(result.get("structuredContent"), None);
    }

    #[test]
    fn lists_of_a_resource_and_a_prompt_keep_their_form() {
        let contents: Vec<Value> =
            (0..1_000).map(|n| object! { "uri" => format!("a:{n}"), "text" => "x".repeat(50) }.into()).collect();
        let result = shortened(object! { "contents" => contents }.into(), 5_000).unwrap();
        let items = result.get("contents").and_then(Value::as_array).unwrap();
        assert!(items.len() < 110 && items.iter().all(|item| item.get("uri").is_some() && item.get("text").is_some()));
        let message = |n: usize| {
            Value::from(
                object! { "role" => "user", "content" => object! { "type" => "text", "text" => format!("{n:050}") } },
            )
        };
        let result =
            shortened(object! { "messages" => (0..1_000).map(message).collect::<Vec<_>>() }.into(), 5_000).unwrap();
        let items = result.get("messages").and_then(Value::as_array).unwrap();
        assert!(items.len() < 110 && items.iter().all(|item| item.pointer("/content/text").is_some()));
    }
}

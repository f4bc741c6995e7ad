//! What commands would print, where that can be told without running them.

use super::Command;
use crate::encoding;
use crate::program;

/// Returns what a pipeline of printing and decoding commands prints. Nothing where any of it depends on the world.
pub(crate) fn static_output(commands: &[Command]) -> Option<String> {
    let mut output: Option<String> = None;
    let mut joined = false;
    for command in commands {
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        if command.words.iter().any(|word| word.unresolved) {
            return None;
        }
        let (first, arguments) = words.split_first()?;
        let fed = if joined { output.take() } else { command.input.clone() };
        let printed = match (program::name(first).as_str(), fed) {
            ("echo", _) => echo(arguments),
            ("printf", _) => printf(arguments)?,
            ("which" | "command" | "type", _) => {
                (*arguments.iter().find(|argument| !argument.starts_with('-'))?).to_owned()
            }
            (name, fed) => filter(name, arguments, &fed?)?,
        };
        output = Some(if joined { printed } else { output.unwrap_or_default() + &printed });
        joined = command.piped;
    }
    output.map(|text| text.trim_end_matches('\n').to_owned())
}

fn echo(arguments: &[&str]) -> String {
    let options = arguments.iter().take_while(|one| matches!(**one, "-n" | "-e" | "-E" | "-ne" | "-en")).count();
    let text = arguments.get(options..).unwrap_or_default().join(" ");
    // Some shells resolve escapes without being told to.
    encoding::unescape(&text)
}

fn printf(arguments: &[&str]) -> Option<String> {
    let arguments = if arguments.first() == Some(&"--") { arguments.get(1..)? } else { arguments };
    let (format, values) = arguments.split_first()?;
    let mut values = values.iter();
    let mut output = String::new();
    let mut rest = *format;
    while let Some((before, from)) = rest.split_once('%') {
        output.push_str(before);
        let end = from.find(|one: char| one.is_ascii_alphabetic() || one == '%')?;
        if from.get(end..)?.starts_with('%') {
            output.push('%');
        } else {
            output.push_str(values.next().copied().unwrap_or_default());
        }
        rest = from.get(end + 1..)?;
    }
    output.push_str(rest);
    for value in values {
        output.push_str(value);
    }
    Some(encoding::unescape(&output))
}

/// Returns what a decoder makes of a text.
fn filter(name: &str, arguments: &[&str], input: &str) -> Option<String> {
    let has = |flags: &[&str]| arguments.iter().any(|argument| flags.contains(argument));
    let joined: String = input.split_whitespace().collect();
    let bytes = match name {
        "base" | "base64" | "openssl" if has(&["-d", "-D", "--decode", "-di", "-id"]) => encoding::base64(&joined)?,
        "xxd" if arguments.iter().any(|argument| argument.starts_with("-r") || argument.contains('r')) => {
            encoding::hex(&joined)?
        }
        "rev" => {
            return Some(
                input.lines().map(|line| line.chars().rev().collect::<String>()).collect::<Vec<_>>().join("\n"),
            );
        }
        "cat" if arguments.is_empty() => return Some(input.to_owned()),
        "tr" => return translate(arguments, input),
        _ => return None,
    };
    encoding::readable(&bytes)
}

/// `tr`, for ranges of letters: enough for rotations by 13 and the like.
fn translate(arguments: &[&str], input: &str) -> Option<String> {
    let [from, to] = arguments else {
        return None;
    };
    let (from, to) = (range(from), range(to));
    let last = *to.last()?;
    let one =
        |one: char| from.iter().position(|known| *known == one).map_or(one, |at| to.get(at).copied().unwrap_or(last));
    Some(input.chars().map(one).collect())
}

fn range(set: &str) -> Vec<char> {
    /// No alphabet of ours is longer.
    const MOST: usize = 512;
    let mut characters = Vec::new();
    let mut rest = set.chars().peekable();
    while let Some(first) = rest.next() {
        if rest.peek() == Some(&'-') {
            rest.next();
            if let Some(last) = rest.next() {
                characters.extend((first..=last).take(MOST));
                continue;
            }
            characters.push('-');
        }
        characters.push(first);
        if characters.len() > MOST {
            break;
        }
    }
    characters
}

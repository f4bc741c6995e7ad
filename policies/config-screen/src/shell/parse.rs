//! From a script to its commands.

mod redirect;

use super::cursor::Cursor;
use super::expand::{self, Expansion};
use super::{Command, Dialect, Script, Variables, Word};
use crate::encoding;

/// Most characters of a script that are read.
const MOST_CHARACTERS: usize = 64 * 1024;
/// Most characters of a word after expansion: without a bound, variables that double would fill memory.
const LONGEST_WORD: usize = 64 * 1024;
/// Most commands of a script.
const MOST_COMMANDS: usize = 1_000;
/// Most substitutions of a script that are worked out.
const MOST_SUBSTITUTIONS: usize = 128;
/// Most characters that expansions may add to a script: without a bound, one long variable that is named often would fill
/// memory.
const MOST_EXPANDED: usize = 256 * 1024;
/// Longest value and most variables that are remembered: no name of a program is longer.
const LONGEST_VALUE: usize = 4 * 1024;
const MOST_VARIABLES: usize = 256;
/// How deep substitutions are worked out.
const DEEPEST: usize = 4;

/// Words that stand before a command and are none.
const CONTROL: [&str; 14] =
    ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "coproc", "exec", "builtin", "call"];
/// Words that end a block.
const ENDS: [&str; 4] = ["fi", "done", "esac", "}"];

/// Reads a script. Variables that it sets are known from there on.
pub(crate) fn parse(script: &str, variables: &mut Variables, dialect: Dialect) -> Script {
    Parser::new(script, variables.clone(), dialect, DEEPEST).run(variables)
}

/// Reads the script of a substitution.
pub(super) fn nested(script: &str, variables: &Variables, depth: usize) -> Script {
    Parser::new(script, variables.clone(), Dialect::Posix, depth).run(&mut Variables::new())
}

struct Parser {
    cursor: Cursor,
    variables: Variables,
    dialect: Dialect,
    depth: usize,
    script: Script,
    command: Command,
    /// The word that is being read; nothing between words.
    word: Option<Word>,
    /// Where the next word goes.
    target: Target,
    /// Delimiters of here-documents that begin at the next line.
    documents: Vec<String>,
    /// Characters that expansions have added.
    expanded: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Command,
    Write,
    Read,
    Document,
    Text,
}

impl Parser {
    fn new(script: &str, variables: Variables, dialect: Dialect, depth: usize) -> Self {
        let broken = script.chars().count() > MOST_CHARACTERS;
        let text: String = script.chars().take(MOST_CHARACTERS).collect();
        Self {
            cursor: Cursor::new(&text),
            variables,
            dialect,
            depth,
            script: Script { broken, ..Script::default() },
            command: Command::default(),
            word: None,
            target: Target::Command,
            documents: Vec::new(),
            expanded: 0,
        }
    }

    fn run(mut self, variables: &mut Variables) -> Script {
        while let Some(one) = self.cursor.next() {
            self.character(one);
            if self.script.commands.len() > MOST_COMMANDS {
                self.script.broken = true;
                break;
            }
        }
        self.end_command(false);
        *variables = self.variables;
        self.script
    }

    /// Returns how deep substitutions are worked out from here: not at all where there are too many.
    fn depth(&self) -> usize {
        if self.script.inner.len() < MOST_SUBSTITUTIONS { self.depth } else { 0 }
    }

    fn character(&mut self, one: char) {
        let posix = self.dialect == Dialect::Posix;
        match one {
            '\n' => {
                self.end_command(false);
                self.documents();
            }
            ' ' | '\t' | '\r' => self.end_word(),
            '#' if posix && self.word.is_none() => drop(self.cursor.take_while(|one| one != '\n')),
            '(' if posix && self.word.as_ref().is_some_and(|word| word.text.strip_suffix('=').is_some_and(is_name)) => {
                self.array();
            }
            ';' | '(' | ')' => self.end_command(false),
            '&' if self.cursor.peek() == Some('>') => self.end_word(),
            '&' => {
                self.cursor.eat('&');
                self.end_command(false);
            }
            '|' => {
                let or = self.cursor.eat('|');
                self.cursor.eat('&');
                self.end_command(!or);
            }
            '>' => self.write(),
            '<' => self.read(),
            '\'' if posix => {
                let text = self.cursor.until('\'');
                self.quoted(text);
            }
            '"' => self.double_quoted(),
            '\\' if posix => match self.cursor.next() {
                Some('\n') | None => {}
                Some(escaped) => {
                    self.push(escaped);
                    self.mark_pieced(escaped.is_alphanumeric());
                }
            },
            '^' if !posix => {
                if let Some(escaped) = self.cursor.next() {
                    self.push(escaped);
                    self.mark_pieced(escaped.is_alphanumeric());
                }
            }
            '$' if posix && self.cursor.peek() == Some('\'') => {
                self.cursor.next();
                let text = self.cursor.until('\'').map(|text| encoding::unescape(&text));
                self.quoted(text);
            }
            '$' if posix && self.cursor.peek() == Some('"') => {}
            '$' if posix => {
                let depth = self.depth();
                let expansion = expand::dollar(&mut self.cursor, &self.variables, depth);
                self.expanded(expansion, true);
            }
            '`' if posix => {
                let script = self.cursor.until('`');
                let expansion = expand::substitution(script, &self.variables, self.depth());
                self.expanded(expansion, true);
            }
            '{' if posix && self.word.is_none() => self.brace(),
            other => self.push(other),
        }
    }

    /// Reads `name=(a b)`.
    fn array(&mut self) {
        let name = self.word.take().unwrap_or_default().text;
        let name = name.trim_end_matches('=');
        let Some(content) = self.cursor.balanced('(', ')') else {
            self.script.broken = true;
            return;
        };
        let items: Vec<String> = content.split_whitespace().map(|item| item.replace(['\'', '"', '\\'], "")).collect();
        for (index, item) in items.iter().enumerate() {
            self.remember(&format!("{name}[{index}]"), item);
        }
        self.remember(name, items.first().map(String::as_str).unwrap_or_default());
        for all in ["[@]", "[*]"] {
            self.remember(&format!("{name}{all}"), &items.join(" "));
        }
    }

    /// Reads `{a,b}`, which a shell makes two words of, and `{` alone.
    fn brace(&mut self) {
        let begin = self.cursor.position();
        let Some(content) = self.cursor.alternatives().filter(|content| content.contains(',')) else {
            self.cursor.go_back(begin);
            self.push('{');
            return;
        };
        for part in content.split(',') {
            let text = part.replace(['\'', '"', '\\'], "");
            self.word = Some(Word { text, unresolved: false, pieced: true });
            self.end_word();
        }
    }

    fn double_quoted(&mut self) {
        let posix = self.dialect == Dialect::Posix;
        self.mark_pieced(true);
        let _: &mut Word = self.word.get_or_insert_default();
        loop {
            match self.cursor.next() {
                Some('"') => return,
                Some('\\') if posix => match self.cursor.next() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(escaped),
                    Some('\n') | None => {}
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                Some('$') if posix => {
                    let depth = self.depth();
                    let expansion = expand::dollar(&mut self.cursor, &self.variables, depth);
                    self.expanded(expansion, false);
                }
                Some('`') if posix => {
                    let script = self.cursor.until('`');
                    let expansion = expand::substitution(script, &self.variables, self.depth());
                    self.expanded(expansion, false);
                }
                Some(other) => self.push(other),
                None => {
                    self.script.broken = true;
                    return;
                }
            }
        }
    }

    fn quoted(&mut self, text: Option<String>) {
        self.mark_pieced(true);
        self.script.broken |= text.is_none();
        let word = self.word.get_or_insert_default();
        word.text.push_str(&text.unwrap_or_default());
    }

    /// Marks the word as put together from pieces, if it has begun.
    fn mark_pieced(&mut self, pieced: bool) {
        if let Some(word) = &mut self.word
            && !word.text.is_empty()
        {
            word.pieced |= pieced;
        }
    }

    /// Puts a value in. Outside of quotes a shell splits it at spaces.
    fn expanded(&mut self, expansion: Expansion, splits: bool) {
        self.script.inner.extend(expansion.inner);
        self.expanded += expansion.text.len();
        if self.expanded > MOST_EXPANDED {
            self.script.broken = true;
            return;
        }
        if splits && !expansion.unresolved && expansion.text.contains([' ', '\t', '\n']) {
            for one in expansion.text.chars() {
                if one.is_whitespace() { self.end_word() } else { self.push(one) }
            }
        } else {
            let word = self.word.get_or_insert_default();
            word.text.push_str(&expansion.text);
            word.unresolved |= expansion.unresolved;
        }
        if let Some(word) = &mut self.word {
            word.pieced = true;
        }
    }

    fn push(&mut self, one: char) {
        let word = self.word.get_or_insert_default();
        if word.text.len() < LONGEST_WORD {
            word.text.push(one);
        } else {
            self.script.broken = true;
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        match std::mem::replace(&mut self.target, Target::Command) {
            Target::Command => self.command_word(word),
            Target::Write => self.command.writes.push(word.text),
            Target::Read => self.command.reads.push(word.text),
            Target::Text => self.command.input = Some(word.text),
            Target::Document => self.documents.push(word.text),
        }
    }

    fn command_word(&mut self, word: Word) {
        if !self.command.words.is_empty() {
            self.command.words.push(word);
            return;
        }
        let text = word.text.as_str();
        if let Some(meaning) = self.variables.get(&format!("alias {text}")) {
            let words: Vec<Word> =
                meaning.split_whitespace().map(|text| Word { text: text.to_owned(), ..word.clone() }).collect();
            self.command.words.extend(words);
            return;
        }
        if CONTROL.contains(&text) || ENDS.contains(&text) {
            return;
        }
        match text.split_once('=') {
            Some((name, value)) if is_name(name) => {
                self.command.assignments.push((name.to_owned(), value.to_owned()));
            }
            Some(_) | None => self.command.words.push(word),
        }
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        self.target = Target::Command;
        let mut command = std::mem::take(&mut self.command);
        if command.is_empty() {
            return;
        }
        command.piped = piped;
        self.learn(&command);
        self.script.commands.push(command);
    }

    /// Remembers the variables that a command sets.
    fn learn(&mut self, command: &Command) {
        if command.words.is_empty() {
            for (name, value) in &command.assignments {
                self.remember(name, value);
            }
        }
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        match words.as_slice() {
            ["export" | "declare" | "local" | "readonly" | "typeset" | "set", rest @ ..] => {
                let pairs = rest.iter().filter_map(|word| word.split_once('=')).filter(|(name, _)| is_name(name));
                for (name, value) in pairs {
                    self.remember(name, value);
                }
            }
            ["alias", rest @ ..] => {
                for (name, value) in rest.iter().filter_map(|word| word.split_once('=')) {
                    self.remember(&format!("alias {name}"), value);
                }
            }
            ["for", name, "in", first, ..] => self.remember(name, first),
            _ => {}
        }
    }

    fn remember(&mut self, name: &str, value: &str) {
        if value.len() <= LONGEST_VALUE && self.variables.len() < MOST_VARIABLES {
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|one| one.is_ascii_alphabetic() || one == '_')
        && characters.all(|one| one.is_ascii_alphanumeric() || one == '_')
}

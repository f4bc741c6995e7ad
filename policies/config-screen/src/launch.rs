//! What an entry would run: programs, scripts and code, through launchers, shells and encodings.

mod code;
mod inner;
mod wrappers;

use portcullis_sdk::config_gate::{Entry, Launch};

use crate::encoding::{self, Wrapping};
use crate::program;
use crate::shell::{self, Command, Dialect, Variables, Word};
use crate::tables::{Programs, Tables};

/// Most programs and scripts of one entry: each costs time, and no honest entry has twenty.
const MOST_STEPS: usize = 400;
/// Most bytes of scripts that are read for one entry, inner ones counted again.
const MOST_BYTES: usize = 256 * 1024;
/// Most variables of an entry, and longest values, that are put into its scripts.
const MOST_VARIABLES: usize = 128;
const LONGEST_VALUE: usize = 4 * 1024;
/// Most commands of a pipeline that are looked at for what feeds one: without a bound a long pipeline would cost the square of its
/// length.
const LONGEST_PIPELINE: usize = 16;
/// How deep launchers, shells and encodings are followed.
const DEEPEST: usize = 8;

/// A program that would run.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about how it is written")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// Its name as [`program::name`] gives it; empty where it depends on the world.
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    /// True where a command line runs it, false where the entry starts it.
    pub(crate) scripted: bool,
    /// True where its name depends on the world.
    pub(crate) unresolved: bool,
    /// True where its name is put together from pieces.
    pub(crate) pieced: bool,
    /// True where it was found inside an encoding.
    pub(crate) decoded: bool,
    /// True where an argument is put together from pieces or depends on the world.
    pub(crate) composed: bool,
    /// Names of what feeds it through pipes and substitutions.
    pub(crate) fed_by: Vec<String>,
    /// Name of what its output goes to.
    pub(crate) feeds: Option<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) reads: Vec<String>,
    /// Folders that the script changed to before.
    pub(crate) folder: Option<String>,
}

/// Code that would run.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// What runs it.
    pub(crate) interpreter: String,
    pub(crate) text: String,
}

/// A text that was found inside an encoding.
#[derive(Clone, Debug)]
pub(crate) struct Hidden {
    pub(crate) wrapping: Wrapping,
    pub(crate) text: String,
}

/// What an entry would run.
#[derive(Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) programs: Vec<Program>,
    pub(crate) code: Vec<Code>,
    /// Command lines, as they are written.
    pub(crate) scripts: Vec<String>,
    /// Texts inside encodings, of every field.
    pub(crate) hidden: Vec<Hidden>,
    /// Encoded texts that are decoded and run.
    pub(crate) runs_hidden: bool,
    /// True where a bound was reached.
    pub(crate) truncated: bool,
}

/// Where something stands while it is resolved.
#[derive(Clone, Debug, Default)]
struct Place {
    depth: usize,
    scripted: bool,
    decoded: bool,
    folder: Option<String>,
}

impl Place {
    fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    fn scripted(&self) -> Self {
        Self { scripted: true, ..self.deeper() }
    }
}

/// Works out what an entry would run.
pub(crate) fn behaviour(entry: &Entry, tables: &Tables) -> Behaviour {
    let mut variables = Variables::new();
    let short = entry.environment.iter().filter(|variable| variable.value.len() <= LONGEST_VALUE);
    for variable in short.take(MOST_VARIABLES) {
        variables.insert(variable.name.clone(), variable.value.clone());
    }
    let mut resolver =
        Resolver { programs: &tables.programs, variables, steps: 0, bytes: 0, found: Behaviour::default() };
    match &entry.launch {
        Launch::Stdio(stdio) => {
            let words: Vec<Word> = stdio.arguments.iter().map(Word::plain).collect();
            resolver.program(&Word::plain(&stdio.command), &words, &Command::default(), &Place::default());
            if stdio.command.trim().contains(char::is_whitespace) {
                resolver.line(&stdio.command, &stdio.arguments);
            }
        }
        Launch::Http(_) => {}
    }
    resolver.environment(entry);
    resolver.encodings(entry);
    resolver.found
}

struct Resolver<'a> {
    programs: &'a Programs,
    variables: Variables,
    steps: usize,
    bytes: usize,
    found: Behaviour,
}

impl Resolver<'_> {
    /// Counts a step. False where no more are taken.
    fn step(&mut self, place: &Place) -> bool {
        self.steps += 1;
        let goes_on = self.steps <= MOST_STEPS && place.depth <= DEEPEST;
        self.found.truncated |= !goes_on;
        goes_on
    }

    /// Follows a command that holds a whole command line. Some programs split it, some hand it to a shell.
    fn line(&mut self, command: &str, arguments: &[String]) {
        let rest: Vec<String> = arguments.iter().map(|argument| shell_words::quote(argument).into_owned()).collect();
        let line = format!("{command} {}", rest.join(" "));
        let mut variables = self.variables.clone();
        let script = shell::parse(&line, &mut variables, Dialect::Posix);
        match script.commands.as_slice() {
            // A single command is started as an entry starts it: it is no sign of a shell.
            [single] if script.inner.is_empty() && single.writes.is_empty() => {
                self.command(single, &[], None, &Place::default());
            }
            _ => self.script(&line, Dialect::Posix, &Place::default()),
        }
    }

    /// Follows a script.
    fn script(&mut self, text: &str, dialect: Dialect, place: &Place) {
        self.bytes = self.bytes.saturating_add(text.len());
        if !self.step(place) || self.bytes > MOST_BYTES {
            self.found.truncated = true;
            return;
        }
        self.found.scripts.push(text.to_owned());
        let mut variables = self.variables.clone();
        let script = shell::parse(text, &mut variables, dialect);
        self.found.truncated |= script.broken && text.len() > 1024;
        let outer = std::mem::replace(&mut self.variables, variables);
        let mut place = place.scripted();
        for inner in &script.inner {
            self.script(inner, dialect, &place);
        }
        let substituted: Vec<String> =
            script.inner.iter().filter_map(|inner| Some(format!("${}", first_name(inner)?))).collect();
        let mut pipeline: Vec<&Command> = Vec::new();
        for (index, command) in script.commands.iter().enumerate() {
            if self.steps > MOST_STEPS {
                break;
            }
            let next = command.piped.then(|| script.commands.get(index + 1)).flatten();
            let next = next.and_then(|next| next.words.first()).map(|word| program::name(&word.text));
            let mut fed_by: Vec<String> = pipeline
                .iter()
                .filter_map(|before| before.words.first())
                .map(|word| program::name(&word.text))
                .collect();
            fed_by.extend(substituted.iter().cloned());
            self.fed(command, &pipeline, &place);
            self.command(command, &fed_by, next.as_deref(), &place);
            if command.piped {
                if pipeline.len() == LONGEST_PIPELINE {
                    pipeline.remove(0);
                    self.found.truncated = true;
                }
                pipeline.push(command);
            } else {
                pipeline.clear();
            }
            if let [first, folder, ..] = command.words.as_slice()
                && matches!(first.text.as_str(), "cd" | "pushd")
            {
                place.folder = Some(folder.text.clone());
            }
        }
        self.variables = outer;
    }

    /// Follows what is fed to a shell, where it can be worked out.
    fn fed(&mut self, command: &Command, pipeline: &[&Command], place: &Place) {
        let names: Vec<String> = command.words.iter().map(|word| program::name(&word.text)).collect();
        let Some(interpreter) = names
            .iter()
            .find(|name| self.programs.is_shell(name) || self.programs.interpreters.contains(*name) || *name == "make")
        else {
            return;
        };
        let before: Vec<Command> = pipeline.iter().map(|command| (*command).clone()).collect();
        let text =
            command.input.clone().or_else(|| if before.is_empty() { None } else { shell::static_output(&before) });
        let Some(text) = text else {
            return;
        };
        let decodes = before.iter().flat_map(|before| &before.words).any(|word| {
            matches!(
                program::name(&word.text).as_str(),
                "base" | "base64" | "xxd" | "openssl" | "rev" | "tr" | "printf"
            )
        });
        self.found.runs_hidden |= decodes;
        let place = Place { decoded: place.decoded || decodes, ..place.clone() };
        if self.programs.is_shell(interpreter) || interpreter == "make" {
            self.script(&text, Dialect::Posix, &place);
        } else {
            self.code(interpreter, &text, &place);
        }
    }

    fn command(&mut self, command: &Command, fed_by: &[String], feeds: Option<&str>, place: &Place) {
        for (name, value) in &command.assignments {
            if !self.step(place) {
                return;
            }
            self.found.programs.push(Program {
                name: "export".to_owned(),
                arguments: vec![format!("{name}={value}")],
                scripted: true,
                decoded: place.decoded,
                ..Program::default()
            });
        }
        let before = self.found.programs.len();
        match command.words.split_first() {
            Some((first, arguments)) => self.program(first, arguments, command, place),
            None if command.writes.is_empty() && command.reads.is_empty() => {}
            None => self.program(&Word::plain(":"), &[], command, place),
        }
        for program in self.found.programs.iter_mut().skip(before) {
            program.fed_by.extend(fed_by.iter().cloned());
            if program.feeds.is_none() {
                program.feeds = feeds.map(str::to_owned);
            }
        }
    }

    /// Notes a program and follows what it runs in turn.
    fn program(&mut self, first: &Word, arguments: &[Word], command: &Command, place: &Place) {
        if !self.step(place) {
            return;
        }
        let name = name_of(first);
        self.found.programs.push(Program {
            name: name.clone(),
            arguments: arguments.iter().map(|word| word.text.clone()).collect(),
            scripted: place.scripted,
            unresolved: first.unresolved,
            pieced: first.pieced,
            decoded: place.decoded,
            composed: arguments.iter().any(|word| word.unresolved || word.pieced),
            fed_by: Vec::new(),
            feeds: None,
            writes: command.writes.clone(),
            reads: command.reads.clone(),
            folder: place.folder.clone(),
        });
        self.inner(&name, arguments, &place.deeper());
    }

    /// Follows command lines that variables hold.
    fn environment(&mut self, entry: &Entry) {
        for variable in &entry.environment {
            // Some variables hold a pipe into a command line: `LESSOPEN=|…`.
            let value = variable.value.trim_start().trim_start_matches('|');
            let first = first_name(value).unwrap_or_default();
            let runs = value.contains(char::is_whitespace)
                && (self.programs.is_shell(&first) || self.programs.egress.contains(&first));
            if runs {
                self.script(value, Dialect::Posix, &Place::default().scripted());
            }
        }
    }

    /// Looks into the encodings of every field.
    fn encodings(&mut self, entry: &Entry) {
        let mut queue: Vec<(String, usize)> = entry.segments.iter().map(|segment| (segment.text.clone(), 0)).collect();
        while let Some((text, depth)) = queue.pop() {
            for (wrapping, inner) in encoding::inner(&text) {
                if self.found.hidden.len() >= MOST_STEPS || depth >= DEEPEST {
                    self.found.truncated = true;
                    return;
                }
                if wrapping == Wrapping::Base64 || wrapping == Wrapping::Hex {
                    let place = Place { decoded: true, scripted: true, ..Place::default() };
                    self.script(&inner, Dialect::Posix, &place);
                }
                queue.push((inner.clone(), depth + 1));
                self.found.hidden.push(Hidden { wrapping, text: inner });
            }
        }
    }
}

/// Programs that a glob is tried against.
const GLOBBED: [&str; 12] =
    ["curl", "wget", "bash", "sh", "zsh", "nc", "ncat", "socat", "python", "perl", "crontab", "tee"];

/// Returns the name of a program. A glob is what it matches among the programs that matter.
fn name_of(word: &Word) -> String {
    let name = program::name(&word.text);
    if name.is_empty() || !name.contains(['?', '*', '[']) {
        return name;
    }
    GLOBBED.iter().find(|known| crate::words::glob(&name, known)).map_or(name, |known| (*known).to_owned())
}

/// Returns the name of the first program of a script, by its looks.
fn first_name(script: &str) -> Option<String> {
    script.split_whitespace().find(|word| !word.contains('=')).map(program::name)
}

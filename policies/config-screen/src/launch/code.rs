//! Code that an interpreter gets as an argument.

use super::{Code, Place, Resolver};
use crate::shell::{Command, Dialect, Word};

/// Returns true for options behind which code stands.
pub(super) fn is_code_option(interpreter: &str, option: &str) -> bool {
    let options: &[&str] = match interpreter {
        "python" | "python2" | "pypy" | "ipython" | "expect" | "gdb" | "lldb" => &["-c", "-ex", "-o"],
        "node" | "nodejs" | "bun" | "tsx" | "ts-node" => &["-e", "--eval", "-p", "--print", "-pe"],
        "deno" => &["eval"],
        "php" => &["-r", "-B", "-E"],
        "perl" | "ruby" => &["-e", "-E", "-ne", "-pe", "-le", "-nle", "-ple"],
        "vim" | "vi" | "nvim" | "ex" => &["-c", "--cmd"],
        "emacs" => &["--eval", "--execute"],
        _ => &["-e", "--eval", "-c", "-E"],
    };
    let attached = options.iter().any(|known| {
        known.len() == 2
            && option.starts_with(known)
            && option.len() > 3
            && !option.starts_with("--")
            && option.contains(['(', ' ', ';'])
    });
    options.contains(&option)
        || attached
        || options.iter().any(|known| known.starts_with("--") && option.starts_with(&format!("{known}=")))
}

/// Returns true for options before the code that take the next argument.
fn takes_value(interpreter: &str, option: &str) -> bool {
    matches!(
        (interpreter, option),
        ("osascript", "-l")
            | ("python", "-W" | "-X")
            | ("node" | "bun" | "tsx", "-r" | "--require" | "--import" | "--loader" | "--env-file")
    )
}

impl Resolver<'_> {
    /// Finds the code among the arguments of an interpreter.
    pub(super) fn interpreter(&mut self, name: &str, arguments: &[Word], place: &Place) {
        if matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "sed" | "jq") {
            if let Some(program) = arguments.iter().find(|word| !word.text.starts_with('-')) {
                let runs =
                    ["system(", "| \"", "|\"", "/inet/", "getline"].iter().any(|part| program.text.contains(part));
                if runs {
                    self.code(name, &program.text, place);
                }
            }
            return;
        }
        if name == "sqlite" {
            for word in arguments.iter().filter(|word| word.text.contains(".shell") || word.text.contains(".system")) {
                self.code(name, &word.text, place);
            }
            return;
        }
        if let [switch, module, rest @ ..] = arguments
            && switch.text == "-m"
            && self.programs.runners.contains(&module.text)
        {
            self.program(module, rest, &Command::default(), place);
            return;
        }
        let mut words = arguments.iter().enumerate();
        while let Some((index, word)) = words.next() {
            if word.text.starts_with("data:") {
                self.code(name, &word.text, place);
                return;
            }
            if takes_value(name, &word.text) {
                words.next();
                continue;
            }
            if name == "deno" && word.text == "run" {
                continue;
            }
            if !is_code_option(name, &word.text) {
                // Behind the program file stand its own arguments.
                if !word.text.starts_with('-') {
                    return;
                }
                continue;
            }
            let attached = word.text.split_once('=').map(|(_, code)| code).filter(|_| word.text.starts_with("--"));
            let short = word.text.get(2..).filter(|code| code.contains(['(', ' ', ';']));
            let separate = arguments.get(index + 1).map(|word| word.text.as_str());
            if let Some(code) = attached.or(short).or(separate) {
                self.code(name, code, place);
            }
            return;
        }
    }

    /// Notes code, and follows the command lines that stand in it as texts.
    pub(super) fn code(&mut self, interpreter: &str, text: &str, place: &Place) {
        if !self.step(place) {
            return;
        }
        let code = Code { interpreter: interpreter.to_owned(), text: text.to_owned() };
        self.found.code.push(code);
        for literal in literals(text) {
            let first = literal.split_whitespace().next().map(crate::program::name).unwrap_or_default();
            let runs = literal.contains(char::is_whitespace)
                && (self.programs.is_shell(&first) || self.programs.egress.contains(&first) || literal.contains('|'));
            if runs {
                self.script(&literal, Dialect::Posix, &place.scripted());
            }
        }
        if let Some((_, line)) = text.split_once('!')
            && matches!(interpreter, "vim" | "vi" | "nvim" | "ex")
        {
            self.script(line, Dialect::Posix, &place.scripted());
        }
    }
}

/// Returns the texts in quotes.
fn literals(code: &str) -> Vec<String> {
    /// Most texts of one piece of code.
    const MOST: usize = 64;
    let mut found = Vec::new();
    let mut characters = code.chars();
    while let Some(quote) = characters.find(|one| matches!(one, '\'' | '"' | '`')) {
        let mut literal = String::new();
        while let Some(one) = characters.next() {
            if one == '\\' {
                literal.extend(characters.next());
            } else if one == quote {
                break;
            } else {
                literal.push(one);
            }
        }
        found.push(literal);
        if found.len() >= MOST {
            break;
        }
    }
    found
}

//! Redirections: files, here-documents and here-strings, process substitutions.

use super::{Parser, Target};

impl Parser {
    pub(super) fn write(&mut self) {
        self.end_descriptor();
        let _: bool = self.cursor.eat('>') || self.cursor.eat('|');
        if self.cursor.eat('&') && self.cursor.peek().is_none_or(|one| one.is_ascii_digit() || one == '-') {
            drop(self.cursor.take_while(|one| one.is_ascii_digit() || one == '-'));
            return;
        }
        if self.cursor.peek() == Some('(') {
            self.cursor.next();
            self.process();
            return;
        }
        self.target = Target::Write;
    }

    pub(super) fn read(&mut self) {
        self.end_descriptor();
        match self.cursor.peek() {
            Some('(') => {
                self.cursor.next();
                self.process();
            }
            Some('<') if self.cursor.ahead(1) == Some('<') => {
                self.cursor.next();
                self.cursor.next();
                self.target = Target::Text;
            }
            Some('<') => {
                self.cursor.next();
                self.cursor.eat('-');
                self.target = Target::Document;
            }
            Some('&') => {
                self.cursor.next();
                drop(self.cursor.take_while(|one| one.is_ascii_digit() || one == '-'));
            }
            Some('>') => {
                self.cursor.next();
                self.target = Target::Write;
            }
            Some(_) | None => self.target = Target::Read,
        }
    }

    /// Ends the word before a redirection: digits there are the number of a descriptor.
    fn end_descriptor(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.text.chars().all(|one| one.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
    }

    /// Reads the script of a process substitution, which stands for a file.
    fn process(&mut self) {
        match self.cursor.balanced('(', ')') {
            Some(script) => self.script.inner.push(script),
            None => self.script.broken = true,
        }
        let word = self.word.get_or_insert_default();
        word.text.push_str("/dev/fd/63");
        word.unresolved = true;
    }

    /// Reads the here-documents that the line before announced.
    pub(super) fn documents(&mut self) {
        for delimiter in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while let Some(line) = self.cursor.line() {
                if line.trim() == delimiter {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            // The command is over already: the document belongs to the last one.
            if let Some(command) = self.script.commands.last_mut() {
                command.input = Some(body);
            }
        }
    }
}

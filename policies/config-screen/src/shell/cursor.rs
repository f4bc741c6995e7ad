//! A place in a text.

/// Most characters between the braces of alternatives. What is looked at there may have to be read again, so without a bound
/// many open braces would cost the square of their number.
const MOST_ALTERNATIVES: usize = 1024;

/// A place in a text.
#[derive(Debug)]
pub(super) struct Cursor {
    characters: Vec<char>,
    at: usize,
}

impl Cursor {
    pub(super) fn new(text: &str) -> Self {
        Self { characters: text.chars().collect(), at: 0 }
    }

    /// Returns how many characters were taken.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to where the cursor was before.
    pub(super) fn go_back(&mut self, position: usize) {
        self.at = self.at.min(position);
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    pub(super) fn ahead(&self, by: usize) -> Option<char> {
        self.characters.get(self.at + by).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let one = self.peek();
        self.at += usize::from(one.is_some());
        one
    }

    /// Takes a character if it is the next.
    pub(super) fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    /// Takes characters as long as they fit.
    pub(super) fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(one) = self.peek().filter(|one| fits(*one)) {
            taken.push(one);
            self.at += 1;
        }
        taken
    }

    /// Takes up to the character that closes what is open, quotes seen through. Nothing where it is not closed.
    pub(super) fn balanced(&mut self, open: char, close: char) -> Option<String> {
        let (mut depth, mut quote, mut taken) = (1_usize, None, String::new());
        while let Some(one) = self.next() {
            match quote {
                _ if one == '\\' && quote != Some('\'') => {
                    taken.push(one);
                    taken.extend(self.next());
                    continue;
                }
                Some(mark) if one == mark => quote = None,
                None if one == '\'' || one == '"' => quote = Some(one),
                None if one == open && open != close => depth += 1,
                None if one == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(taken);
                    }
                }
                Some(_) | None => {}
            }
            taken.push(one);
        }
        None
    }

    /// Takes the content of `{a,b}`, of which a `{` was taken. Nothing where a space or the end of a command stands in it
    /// outside of quotes: then it is no alternative but the beginning of a block.
    pub(super) fn alternatives(&mut self) -> Option<String> {
        let begin = self.at;
        let (mut depth, mut substitutions, mut quote, mut taken) = (1_usize, 0_usize, None, String::new());
        while let Some(one) = self.next().filter(|_| self.at - begin <= MOST_ALTERNATIVES) {
            match one {
                '\\' if quote != Some('\'') => {
                    taken.push(one);
                    taken.extend(self.next());
                    continue;
                }
                one if quote == Some(one) => quote = None,
                _ if quote.is_some() => {}
                '\'' | '"' => quote = Some(one),
                '{' => depth += 1,
                '}' if depth == 1 => return Some(taken),
                '}' => depth -= 1,
                '(' if taken.ends_with('$') => substitutions += 1,
                ')' if substitutions > 0 => substitutions -= 1,
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
                _ => {}
            }
            taken.push(one);
        }
        None
    }

    /// Takes up to a character.
    pub(super) fn until(&mut self, close: char) -> Option<String> {
        let taken = self.take_while(|one| one != close);
        self.eat(close).then_some(taken)
    }

    /// Takes a line, its end left out.
    pub(super) fn line(&mut self) -> Option<String> {
        self.peek()?;
        let line = self.take_while(|one| one != '\n');
        self.eat('\n');
        Some(line)
    }
}

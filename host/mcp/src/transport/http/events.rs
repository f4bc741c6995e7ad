//! Server-sent events (WHATWG HTML §9.2), as far as MCP uses them.

use crate::jsonrpc::{Recovered, Recovery};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type; `message` where nothing is said.
    pub kind: String,
    /// Its data.
    pub data: Vec<u8>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// An event.
    Event(Event),
    /// An event whose data was longer than the limit and was skipped; what could be made out of it.
    Oversize(Recovered),
}

/// A type or an id longer than this is not kept; a server that names its events so long does not want them resumed.
const LONGEST_NAME: usize = 1024;

/// Reads events from bytes, keeping no more than one event's data.
#[derive(Debug)]
pub struct EventReader {
    limit: usize,
    /// The line that is being read, as far as it is kept.
    line: Vec<u8>,
    /// True after a carriage return: a line feed behind it belongs to the same end of line.
    after_return: bool,
    /// True until the first line is complete: a byte order mark may stand before it.
    first: bool,
    data: Vec<u8>,
    has_data: bool,
    kind: Vec<u8>,
    /// Where the data is too long, what was made out of it so far.
    skipping: Option<Recovery>,
    last_id: String,
    retry: Option<u64>,
}

impl EventReader {
    /// Prepares reading events with at most that much data.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            first: true,
            data: Vec::new(),
            has_data: false,
            kind: Vec::new(),
            skipping: None,
            last_id: String::new(),
            retry: None,
        }
    }

    /// Returns the id of the last event; empty for none.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// Returns the pause in milliseconds that the server wants before a new attempt.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Reads from the front of `bytes` until an event is complete or nothing is left.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<Parsed> {
        if std::mem::take(&mut self.after_return) {
            *bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(position) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (piece, rest) = bytes.split_at(position);
            self.append(piece);
            let is_return = rest.first() == Some(&b'\r');
            let rest = rest.get(1..).unwrap_or_default();
            self.after_return = is_return && rest.is_empty();
            *bytes = if is_return { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
            if let Some(parsed) = self.end_line() {
                return Some(parsed);
            }
        }
        self.append(bytes);
        *bytes = &[];
        None
    }

    /// Keeps a piece of a line, or feeds it to the recovery where the line is data that is too long.
    fn append(&mut self, piece: &[u8]) {
        if let Some(recovery) = &mut self.skipping {
            recovery.feed(piece);
            return;
        }
        self.line.extend_from_slice(piece);
        if self.data.len() + self.line.len() > self.limit {
            let mut recovery = Recovery::default();
            recovery.feed(&self.data);
            recovery.feed(field(&self.line).1);
            self.skipping = Some(recovery);
            (self.data, self.line) = (Vec::new(), Vec::new());
        }
    }

    fn end_line(&mut self) -> Option<Parsed> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first)
            && let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf")
        {
            line = rest.to_vec();
        }
        if line.is_empty() && self.skipping.is_none() {
            return self.end_event();
        }
        // Data that is too long is one line in all but name: its end is the end of the skipped event.
        if let Some(recovery) = self.skipping.take() {
            self.reset();
            return Some(Parsed::Oversize(recovery.finish()));
        }
        let (name, value) = field(&line);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                if self.data.is_empty() {
                    // The usual case is one line of data: it is taken over rather than copied.
                    let skip = line.len() - value.len();
                    line.drain(..skip);
                    self.data = line;
                } else {
                    self.data.extend_from_slice(value);
                }
            }
            b"event" if value.len() <= LONGEST_NAME => self.kind = value.to_vec(),
            b"id" if value.len() <= LONGEST_NAME && !value.contains(&0) => {
                self.last_id = String::from_utf8_lossy(value).into_owned();
            }
            b"retry" => {
                self.retry = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Parsed> {
        let (data, kind, has_data) = (std::mem::take(&mut self.data), std::mem::take(&mut self.kind), self.has_data);
        self.reset();
        let kind = if kind.is_empty() { "message".to_owned() } else { String::from_utf8_lossy(&kind).into_owned() };
        has_data.then_some(Parsed::Event(Event { kind, data }))
    }

    fn reset(&mut self) {
        self.has_data = false;
        self.data = Vec::new();
        self.kind = Vec::new();
    }
}

/// Splits a line into its field's name and value.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        Some(position) => {
            let (name, rest) = line.split_at(position);
            let value = rest.get(1..).unwrap_or_default();
            (name, value.strip_prefix(b" ").unwrap_or(value))
        }
        None => (line, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Id;

    fn read(text: &[u8], size: usize) -> (Vec<Parsed>, EventReader) {
        let mut reader = EventReader::new(100);
        let mut events = Vec::new();
        for mut piece in text.chunks(size) {
            while !piece.is_empty() {
                events.extend(reader.next(&mut piece));
            }
        }
        (events, reader)
    }

    fn event(kind: &str, data: &str) -> Parsed {
        Parsed::Event(Event { kind: kind.to_owned(), data: data.into() })
    }

    #[test]
    fn events_are_read_from_pieces_of_any_size_and_with_any_line_end() {
        let plain = "\u{feff}: comment\nid: 7\nretry: 250\nevent: x\ndata: one\ndata:two\n\ndata\n\nid\nevent: y\n\n\ndata: {}\n\n";
        for end in ["\n", "\r\n", "\r"] {
            let text = plain.replace('\n', end);
            for size in [1, 2, 3, 5, 1000] {
                let (events, reader) = read(text.as_bytes(), size);
                assert_eq!(
                    events,
                    [event("x", "one\ntwo"), event("message", ""), event("message", "{}")],
                    "{end:?} {size}"
                );
                assert_eq!((reader.last_id(), reader.retry()), ("", Some(250)));
            }
        }
    }

    #[test]
    fn an_event_that_is_cut_off_is_none() {
        assert_eq!(read(b"data: {}\n", 100).0, []);
    }

    #[test]
    fn data_that_is_too_long_is_skipped_and_names_its_request() {
        let text = format!("data: {{\"result\":\"{}\",\"id\":5}}\n\ndata: next\n\n", "x".repeat(500));
        for size in [1, 7, 50, 10_000] {
            let (events, _) = read(text.as_bytes(), size);
            let Parsed::Oversize(recovered) = &events[0] else { panic!("{events:?}") };
            assert_eq!(recovered.id, Some(Id::from(5)));
            assert_eq!(events[1..], [event("message", "next")]);
        }
    }
}

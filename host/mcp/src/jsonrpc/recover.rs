//! The id of a text that cannot be read.

use portcullis_model::json::parse;

use super::{Id, Incoming, Malformed, MalformedReason, Side};

/// A key or an id longer than this is not kept: the keys looked for have six letters, honest ids have a UUID's length.
const LONGEST_TOKEN: usize = 256;

/// Looks for the top-level `id` of a text that no parser accepts: cut off, too long, too deep, with doubled keys.
///
/// It is fed in pieces and keeps a bounded token, so that a line of any length can be skipped and still be answered.
/// Only the top level counts, or else a server could have a nested `id` taken for the message's.
#[derive(Debug, Default)]
pub struct Recovery {
    place: Place,
    depth: u64,
    string: Option<Escape>,
    collecting: bool,
    token: Vec<u8>,
    member: Member,
    recovered: Recovered,
}

/// What could be made out of a text that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// True where the text begins like an object at all.
    pub object: bool,
    /// The first usable top-level `id`.
    pub id: Option<Id>,
    /// True where there is a top-level `method`.
    pub method: bool,
    /// True where there is a top-level `result` or `error`.
    pub outcome: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Key,
    Colon,
    Value,
    Comma,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    Next,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Member {
    Id,
    #[default]
    Other,
}

impl Recovery {
    /// Reads on.
    pub fn feed(&mut self, mut piece: &[u8]) {
        while let Some((byte, rest)) = piece.split_first() {
            if self.place == Place::End {
                return;
            }
            if self.string == Some(Escape::None) && !self.collecting {
                // The bulk of a large message is inside strings: jump to what can end them.
                let Some(position) = memchr::memchr2(b'"', b'\\', piece) else {
                    return;
                };
                let Some((byte, rest)) = piece.get(position..).and_then(<[u8]>::split_first) else {
                    return;
                };
                self.in_string(*byte);
                piece = rest;
                continue;
            }
            if self.string.is_some() {
                self.in_string(*byte);
            } else {
                self.outside(*byte);
            }
            piece = rest;
        }
    }

    /// Returns what was made out.
    pub fn finish(mut self) -> Recovered {
        // A number that the text ends in may be cut off, so it is no id; a string is taken only when it is closed.
        self.token.clear();
        self.recovered
    }

    fn in_string(&mut self, byte: u8) {
        self.collect(byte);
        self.string = match (self.string, byte) {
            (Some(Escape::Next), _) => Some(Escape::None),
            (_, b'\\') => Some(Escape::Next),
            (_, b'"') => {
                self.end_of_string();
                None
            }
            _ => Some(Escape::None),
        };
    }

    fn end_of_string(&mut self) {
        if self.depth != 1 {
            return;
        }
        match self.place {
            Place::Key => {
                self.end_of_key();
                self.place = Place::Colon;
            }
            Place::Value => {
                self.end_of_value();
                self.place = Place::Comma;
            }
            Place::Start | Place::Colon | Place::Comma | Place::End => {}
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.string = Some(Escape::None);
                self.collecting = self.wants_token();
                self.collect(byte);
            }
            b'{' if self.place == Place::Start => {
                self.depth = 1;
                self.place = Place::Key;
                self.recovered.object = true;
            }
            b'{' | b'[' if self.place != Place::Start => self.depth += 1,
            b'}' | b']' if self.place != Place::Start => self.close(),
            b':' if self.depth == 1 && self.place == Place::Colon => {
                self.place = Place::Value;
                self.token.clear();
                self.collecting = self.wants_token();
            }
            b',' if self.depth == 1 => {
                self.end_of_value();
                self.place = Place::Key;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            // A byte order mark before the object is forgiven here; the strict reader has refused it already.
            0xef | 0xbb | 0xbf if self.place == Place::Start => {}
            _ if self.place == Place::Start => self.place = Place::End,
            _ if self.depth == 1 && self.place == Place::Value => self.collect(byte),
            _ => {}
        }
    }

    fn close(&mut self) {
        if self.depth == 1 {
            self.end_of_value();
            self.place = Place::End;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn wants_token(&self) -> bool {
        self.depth == 1 && (self.place == Place::Key || (self.place == Place::Value && self.member == Member::Id))
    }

    fn collect(&mut self, byte: u8) {
        if self.collecting {
            if self.token.len() < LONGEST_TOKEN {
                self.token.push(byte);
            } else {
                self.collecting = false;
                self.token.clear();
            }
        }
    }

    fn end_of_key(&mut self) {
        self.collecting = false;
        let key = parse(&self.token).ok();
        self.member = Member::Other;
        match key.as_ref().and_then(|key| key.as_str()) {
            Some("id") => self.member = Member::Id,
            Some("method") => self.recovered.method = true,
            Some("result" | "error") => self.recovered.outcome = true,
            _ => {}
        }
        self.token.clear();
    }

    fn end_of_value(&mut self) {
        if self.place == Place::Value && self.member == Member::Id && self.recovered.id.is_none() {
            self.recovered.id = parse(&self.token).ok().and_then(Id::from_value);
        }
        self.collecting = false;
        self.token.clear();
        self.member = Member::Other;
    }
}

impl Recovered {
    /// Says what the text is: malformed where it was meant as a message, else noise.
    pub fn into_incoming(self, reason: MalformedReason) -> Incoming {
        let side = match (self.method, self.outcome) {
            (true, _) => Side::Request,
            (false, true) => Side::Response,
            (false, false) => Side::Unknown,
        };
        if !self.object || (self.id.is_none() && side == Side::Unknown) {
            return Incoming::Noise;
        }
        Incoming::Malformed(Malformed { id: self.id, side, reason })
    }
}

//! What is looked up of the arguments of a call: each text as it is, backwards, and decoded.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use portcullis_model::Encoding;

use super::fold::{Folded, fold, fold_backwards, fold_with_origin};
use super::{LONGEST_VALUE, SHORTEST_VALUE};

/// Bytes of arguments that are looked at: a long letter. Beyond it echoes may be missing.
const MOST_BYTES: usize = 64 * 1024;

/// Values of one call that are searched for, each of which is a pass over what is remembered.
const MOST_VALUES: usize = 96;

/// A text is searched for addresses up to this size; in a longer one they count as fragments.
const LONGEST_WITH_ADDRESSES: usize = 4 * 1024;

/// A run of encoded characters of fewer bytes holds too little to recognise.
const SHORTEST_ENCODED: usize = 16;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// A text to look up.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) folded: Folded,
    pub(super) encoding: Encoding,
    /// Where an encoded text stands in the argument as a whole; nothing where each byte knows its place.
    place: Option<(u32, u32)>,
    /// What is searched for as a whole.
    values: Vec<Range<usize>>,
}

impl Probe {
    /// Returns where a range of the folded text stands in the argument that it was made of.
    pub(super) fn span(&self, range: &Range<usize>, argument: &str) -> (u32, u32) {
        self.place.unwrap_or_else(|| self.folded.origin(range, argument))
    }

    /// Returns what is searched for as a whole.
    pub(super) fn values(&self) -> impl Iterator<Item = Range<usize>> {
        self.values.iter().cloned()
    }
}

/// Hands out what is to be looked up, as long as there is room.
#[derive(Debug)]
pub(super) struct Probes {
    bytes: usize,
    values: usize,
    short: bool,
}

impl Default for Probes {
    fn default() -> Self {
        Self { bytes: MOST_BYTES, values: MOST_VALUES, short: false }
    }
}

impl Probes {
    /// Returns true where something was left out.
    pub(super) fn cut_short(&self) -> bool {
        self.short
    }

    /// Returns what is to be looked up of a text.
    pub(super) fn of(&mut self, text: &str) -> Vec<Probe> {
        let end = text.floor_char_boundary(self.bytes);
        self.short |= end < text.len();
        self.bytes -= end;
        let text = text.get(..end).unwrap_or_default();
        if text.len() < SHORTEST_VALUE {
            return Vec::new();
        }
        let plain = fold_with_origin(text);
        let backwards = fold_backwards(text, &plain.text);
        let mut probes = vec![self.probe(plain, Encoding::Plain, None)];
        let whole = (0, narrow(text.len()));
        let mut decoded = |this: &mut Self, folded, encoding, place| {
            probes.push(this.probe(Folded::without_origin(folded), encoding, Some(place)));
        };
        decoded(self, backwards, Encoding::Reversed, whole);
        if let Some(words) = percent(text) {
            decoded(self, fold(&words, usize::MAX), Encoding::Percent, whole);
        }
        for (range, run) in runs(text, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
        {
            let place = (narrow(range.start), narrow(range.end));
            if let Some(words) = hex(run) {
                decoded(self, fold(&words, usize::MAX), Encoding::Hex, place);
            } else if let Some(words) = base64(run) {
                decoded(self, fold(&words, usize::MAX), Encoding::Base64, place);
            }
        }
        probes
    }

    fn probe(&mut self, folded: Folded, encoding: Encoding, place: Option<(u32, u32)>) -> Probe {
        let mut values = Vec::new();
        let text = folded.text.as_str();
        if (SHORTEST_VALUE..=LONGEST_VALUE).contains(&text.len()) {
            values.push(0..text.len());
        }
        if text.len() <= LONGEST_WITH_ADDRESSES {
            values.extend(addresses(text).into_iter().filter(|range| *range != (0..text.len())));
        }
        self.short |= values.len() > self.values;
        values.truncate(self.values);
        self.values -= values.len();
        Probe { folded, encoding, place, values }
    }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Returns the words that look like addresses: with an at sign, a dot or a digit inside; of a URL also the host.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let parts = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b',' | b';' | b'<' | b'>' | b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|')
    };
    for (range, word) in runs_of(text, |byte| !parts(byte), SHORTEST_VALUE + 1) {
        let trimmed = word.trim_end_matches(['.', ':', '!', '?']);
        let looks = trimmed.bytes().any(|byte| matches!(byte, b'@' | b'.'))
            || trimmed.bytes().any(|byte| byte.is_ascii_digit());
        if !looks || trimmed.len() > LONGEST_VALUE {
            continue;
        }
        found.push(range.start..range.start + trimmed.len());
        if let Some((scheme, rest)) = trimmed.split_once("://") {
            let start = range.start + scheme.len() + 3;
            let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            if host > SHORTEST_VALUE && start + host < range.start + trimmed.len() {
                found.push(start..start + host);
            }
        }
    }
    found
}

/// Returns the longest runs of bytes of a kind that may be encoded text.
fn runs(text: &str, of: impl Fn(u8) -> bool) -> Vec<(Range<usize>, &str)> {
    runs_of(text, of, SHORTEST_ENCODED)
}

fn runs_of(text: &str, of: impl Fn(u8) -> bool, shortest: usize) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, byte) in text.bytes().chain([0]).enumerate() {
        // The last byte is no part of the text and ends the last run.
        if at < text.len() && of(byte) {
            continue;
        }
        if at - start >= shortest
            && let Some(run) = text.get(start..at)
        {
            found.push((start..at, run));
        }
        start = at + 1;
    }
    found
}

fn percent(text: &str) -> Option<String> {
    text.contains('%').then_some(())?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    let mut any = false;
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (byte == b'%').then(|| Some((digit(ahead.next()?)?, digit(ahead.next()?)?))).flatten();
        if let Some((high, low)) = digits {
            bytes.push(high << 4 | low);
            rest = ahead;
            any = true;
        } else {
            bytes.push(if byte == b'+' { b' ' } else { byte });
        }
    }
    any.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn hex(run: &str) -> Option<String> {
    let digits: Vec<u8> = run.bytes().map(digit).collect::<Option<_>>()?;
    let bytes = digits.chunks_exact(2).filter_map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    String::from_utf8(bytes.collect()).ok()
}

fn base64(run: &str) -> Option<String> {
    // What is left of a group of one character holds no byte.
    let whole = if run.len() % 4 == 1 { run.get(..run.len() - 1)? } else { run };
    let bytes = STANDARD.decode(whole).or_else(|_| URL_SAFE.decode(whole)).ok()?;
    String::from_utf8(bytes).ok()
}

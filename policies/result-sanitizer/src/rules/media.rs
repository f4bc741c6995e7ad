//! Media that are there twice.
//!
//! **What it does.** Blanks base64 in a text where it is that of an image, a sound or a file that the same result has as a
//! block of its own, also within JSON or a `data:` URL.
//!
//! **Why.** A picture as text is some hundred thousand tokens that say nothing to a model, and it gets the picture anyway.
//!
//! **Example.** A screenshot as a block of type `image`, and the same bytes in the text of another block.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use portcullis_sdk::result_gate::Subject;
use portcullis_sdk::{Replacement, Segment, Severity};
use sha2::{Digest as _, Sha256};

use super::Declared;
use crate::report::{Found, Report};

const RULE: &str = "repeated-media";

pub(super) const RULES: &[Declared] =
    &[(RULE, Severity::Info, "The base64 of media that the result has as a block too.")];

/// Smaller media cost a model next to nothing.
const SMALLEST: u64 = 256;

/// Looks at one segment.
pub(crate) fn look(index: usize, segment: &Segment, subject: &Subject, report: &mut Report<'_>) {
    let least = subject.descriptors.iter().map(|media| media.length).filter(|length| *length >= SMALLEST).min();
    // In base64 three bytes are four characters.
    let Some(least) = least.and_then(|bytes| usize::try_from(bytes / 3 * 4).ok()) else { return };
    if segment.text.len() < least {
        return;
    }
    for range in runs(&segment.text, least) {
        let Some(bytes) = segment.text.get(range.clone()).and_then(decode) else { continue };
        let of_this_length = |length: u64| u64::try_from(bytes.len()) == Ok(length);
        if !subject.descriptors.iter().any(|media| of_this_length(media.length)) {
            continue;
        }
        let digest = hex(&Sha256::digest(&bytes));
        if subject.descriptors.iter().any(|media| of_this_length(media.length) && media.digest == digest) {
            report.blank(&Found {
                rule: RULE,
                severity: Severity::Info,
                message: "media that the result has as a block too".to_owned(),
                index,
                segment,
                ranges: vec![(range, Replacement::Marker)],
            });
        }
    }
}

/// Returns the longest runs of characters of base64, of either alphabet, that are long enough.
fn runs(text: &str, least: usize) -> Vec<Range<usize>> {
    let encodes = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    let mut found = Vec::new();
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !encodes(byte) {
            if at - start >= least {
                found.push(start..at);
            }
            start = at + 1;
        }
    }
    if text.len() - start >= least {
        found.push(start..text.len());
    }
    found
}

fn decode(text: &str) -> Option<Vec<u8>> {
    [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|engine| engine.decode(text).ok())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value)).map_or('0', |digit| char::from(*digit));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_no_character_of_base64_stands() {
        assert_eq!(runs("data:image/png;base64,QUJD\"", 4), [0..4, 5..14, 15..21, 22..26]);
        assert_eq!(runs("AAAA BB CCCC", 4), [0..4, 8..12]);
        assert!(runs("é", 1).is_empty());
        assert_eq!(decode("QUJDRA"), Some(b"ABCD".to_vec()));
    }
}

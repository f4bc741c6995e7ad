//! Derives the folding table from Unicode's compatibility mappings and confusables data.
//!
//! The crates that hold the data (over half a megabyte) stay at build time; the policy carries what folds to ASCII.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Set on the folded byte where the source only looks like the ASCII character (confusables data).
const LOOK_ALIKE: u8 = 0x80;

fn main() -> Result<(), Box<dyn Error>> {
    let mut codes = String::new();
    let mut bytes = String::new();
    let mut long_codes = String::new();
    let mut long_texts = String::new();
    let (mut singles, mut longs) = (0, 0);
    for character in '\u{80}'..=char::MAX {
        let Some((folded, look_alike)) = fold(character) else { continue };
        let code = u32::from(character);
        if let [byte] = folded.as_bytes() {
            let byte = if look_alike { byte | LOOK_ALIKE } else { *byte };
            write!(codes, "{code},")?;
            write!(bytes, "{byte},")?;
            singles += 1;
        } else {
            write!(long_codes, "{code},")?;
            write!(long_texts, "{folded:?},")?;
            longs += 1;
        }
    }
    let source = format!(
        "pub(super) static CODES: [u32; {singles}] = [{codes}];\npub(super) static BYTES: [u8; {singles}] = [{bytes}];\n\
         pub(super) static LONG_CODES: [u32; {longs}] = [{long_codes}];\npub(super) static LONG_TEXTS: [&str; {longs}] = [{long_texts}];\n"
    );
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("folds.rs"), source)?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// Returns the ASCII text that a reader takes the character for, and whether only looks say so.
fn fold(character: char) -> Option<(String, bool)> {
    if is_combining_mark(character) || ideographic(character) {
        return None;
    }
    if character.is_whitespace() {
        return Some((" ".to_owned(), false));
    }
    let mut folded = String::new();
    let mut look_alike = false;
    for part in character.nfkd().filter(|part| !is_combining_mark(*part)) {
        if part.is_ascii() {
            folded.push(part);
            continue;
        }
        let skeleton: String = unicode_security::skeleton(part.encode_utf8(&mut [0; 4]))
            .flat_map(|prototype| prototype.nfkd().collect::<Vec<_>>())
            .filter(|prototype| !is_combining_mark(*prototype))
            .collect();
        if skeleton.is_empty() || !skeleton.is_ascii() {
            return None;
        }
        look_alike |= part.is_alphabetic();
        // The prototype of the upright stroke is `l` and that of `m` is `rn`: a reader of words sees `I` and `m`.
        match skeleton.as_str() {
            "l" if part.is_uppercase() => folded.push('I'),
            "rn" => folded.push('m'),
            other => folded.push_str(other),
        }
    }
    (!folded.is_empty()).then_some((folded, look_alike))
}

/// Scripts whose strokes resemble punctuation: folding them would break words of those languages.
fn ideographic(character: char) -> bool {
    matches!(u32::from(character), 0x1100..=0x11FF | 0x2E80..=0x2FFF | 0x3001..=0x9FFF | 0xA960..=0xD7FF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

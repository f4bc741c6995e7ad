//! Folding of characters to the ASCII text that a reader takes them for.
//!
//! The table is derived at build time from Unicode's compatibility decompositions (UAX #15) and confusables data
//! (UTS #39). Full-width, mathematical, circled and accented letters fold by decomposition; Cyrillic, Greek and other
//! letters fold where they look like a Latin one.

#[expect(clippy::unreadable_literal, reason = "generated: nobody reads the numbers")]
mod table {
    include!(concat!(env!("OUT_DIR"), "/folds.rs"));
}

use table::{BYTES, CODES, LONG_CODES, LONG_TEXTS};

/// What a character folds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// One ASCII character by decomposition.
    Same(u8),
    /// One ASCII character that it only looks like: another script's letter.
    LookAlike(u8),
    /// Several ASCII characters.
    Text(&'static str),
}

/// Returns what `character` folds to; nothing for ASCII itself and for characters with no ASCII likeness.
pub fn fold(character: char) -> Option<Fold> {
    let code = u32::from(character);
    if let Ok(index) = CODES.binary_search(&code) {
        let byte = *BYTES.get(index)?;
        return Some(if byte & 0x80 == 0 { Fold::Same(byte) } else { Fold::LookAlike(byte & 0x7F) });
    }
    let index = LONG_CODES.binary_search(&code).ok()?;
    LONG_TEXTS.get(index).copied().map(Fold::Text)
}

/// True for marks that are laid over a letter: accents and strikes that do not change which letter a reader sees.
pub fn is_overlay(character: char) -> bool {
    matches!(u32::from(character), 0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decomposition_folds_full_width_mathematical_and_accented_letters() {
        assert_eq!(fold('Ｉ'), Some(Fold::Same(b'I')));
        assert_eq!(fold('𝐁'), Some(Fold::Same(b'B')));
        assert_eq!(fold('é'), Some(Fold::Same(b'e')));
        assert_eq!(fold('\u{2003}'), Some(Fold::Same(b' ')));
    }

    #[test]
    fn confusables_fold_other_scripts_to_the_letter_that_a_reader_sees() {
        assert_eq!(fold('а'), Some(Fold::LookAlike(b'a')));
        assert_eq!(fold('І'), Some(Fold::LookAlike(b'I')));
        assert_eq!(fold('ρ'), Some(Fold::LookAlike(b'p')));
    }

    #[test]
    fn ideographs_and_letters_without_likeness_stay() {
        assert_eq!(fold('一'), None);
        assert_eq!(fold('щ'), None);
        assert_eq!(fold('a'), None);
    }
}

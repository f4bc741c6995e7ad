//! Which characters count as hidden.

/// What kind of hidden character it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The TAG block: a second ASCII that nothing draws.
    Tag,
    /// Zero-width, filler and other default-ignorable characters, invisible operators ("sneaky bits") included.
    Invisible,
    /// Variation selectors where no emoji asks for one.
    Variation,
    /// Marks that turn the direction of writing.
    Bidi,
    /// C0 and C1 control characters other than tab, line feed and carriage return.
    Control,
    /// Escape sequences of terminals (ECMA-48).
    Escape,
}

/// Returns the kind of a character that is hidden unless its neighbours need it.
///
/// Default-ignorable characters follow Unicode's `DerivedCoreProperties`; interlinear annotation marks are added.
pub(super) const fn class(character: char) -> Option<Kind> {
    Some(match character {
        '\t' | '\n' | '\r' => return None,
        '\u{1B}' => Kind::Escape,
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' => Kind::Control,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Kind::Bidi,
        '\u{AD}'
        | '\u{34F}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180E}'
        | '\u{200B}'..='\u{200D}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E00FF}'
        | '\u{E01F0}'..='\u{E0FFF}' => Kind::Invisible,
        '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => Kind::Variation,
        '\u{E0000}'..='\u{E007F}' => Kind::Tag,
        _ => return None,
    })
}

/// True for characters that may take an emoji presentation selector or stand in a ZWJ sequence.
///
/// Whole blocks of pictographs rather than the exact list: what a selector could smuggle on one of these is one bit.
pub const fn is_emoji_base(character: char) -> bool {
    matches!(
        character,
        '\u{A9}'
            | '\u{AE}'
            | '\u{203C}'
            | '\u{2049}'
            | '\u{2122}'
            | '\u{2139}'
            | '\u{2190}'..='\u{21FF}'
            | '\u{2300}'..='\u{23FF}'
            | '\u{24C2}'
            | '\u{25A0}'..='\u{27BF}'
            | '\u{2900}'..='\u{297F}'
            | '\u{2B00}'..='\u{2BFF}'
            | '\u{3030}'
            | '\u{303D}'
            | '\u{3297}'
            | '\u{3299}'
            | '\u{1F000}'..='\u{1FAFF}'
    )
}

/// True for letters and marks of scripts whose spelling needs ZWJ or ZWNJ (Arabic, Syriac, N'Ko, Indic, Burmese, Khmer).
pub(super) const fn is_joining(character: char) -> bool {
    matches!(
        character,
        '\u{620}'..='\u{6FF}' | '\u{700}'..='\u{7FF}' | '\u{8A0}'..='\u{DFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17D3}'
    )
}

//! Names taken apart into words.

/// Returns the words of a name in lower case: parted by what is no letter or digit, and before capitals inside.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for character in name.chars() {
        let parts = !character.is_alphanumeric() || (after_lower && character.is_uppercase());
        if parts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        after_lower = character.is_lowercase() || character.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parted_at_signs_and_capitals() {
        assert_eq!(words("slack_post-message"), ["slack", "post", "message"]);
        assert_eq!(words("sendEMail2"), ["send", "email2"]);
        assert_eq!(words("__"), Vec::<String>::new());
    }
}

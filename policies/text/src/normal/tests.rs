use super::*;

fn said(text: &str) -> String {
    Normal::new(text).text().to_owned()
}

#[test]
fn plain_text_is_borrowed() {
    assert!(matches!(Normal::new("a plain text, with R&D and 5 % in it").text, Cow::Borrowed(_)));
}

#[test]
fn disguised_letters_read_as_the_letters_they_pass_for() {
    assert_eq!(said("ｉｇｎｏｒｅ"), "ignore");
    assert_eq!(said("𝐢𝐠𝐧𝐨𝐫𝐞"), "ignore");
    assert_eq!(said("іgnоrе"), "ignore");
    assert_eq!(said("i\u{200B}g\u{AD}n\u{2062}ore"), "ignore");
    assert_eq!(said("i\u{336}g\u{336}n\u{336}ore"), "ignore");
    assert_eq!(said("&#105;&#x67;nore &lt;system&gt;"), "ignore <system>");
    assert_eq!(said("\\u0069gnore"), "ignore");
}

#[test]
fn tag_text_is_spelled_out_and_escape_sequences_vanish() {
    let tags: String = "ignore".bytes().map(|b| char::from_u32(0xE0000 + u32::from(b)).unwrap()).collect();
    assert_eq!(said(&format!("a {tags}")), "a ignore");
    assert_eq!(said("\u{1B}[38;5;231mignore\u{1B}[0m all"), "ignore all");
    assert_eq!(said("\u{9B}8mignore"), "ignore");
}

#[test]
fn words_of_other_languages_stay_readable_as_such() {
    assert_eq!(said("不要告诉用户"), "不要告诉用户");
    assert!(Normal::new("никому не сообщай").mixed_word().is_none());
}

#[test]
fn a_word_of_two_scripts_is_reported_where_it_stands() {
    let text = "please сall it";
    assert_eq!(Normal::new(text).mixed_word().map(|range| text[range].to_owned()), Some("сall".to_owned()));
}

#[test]
fn ranges_lead_back_to_the_original_bytes() {
    let text = "x\u{200B}\u{200B}ｉｇｎｏｒｅ &#97;ll";
    let normal = Normal::new(text);
    assert_eq!(normal.text(), "xignore all");
    assert_eq!(&text[normal.original(1..7)], "ｉｇｎｏｒｅ");
    assert_eq!(&text[normal.original(8..11)], "&#97;ll");
    assert_eq!(normal.original(3..3).len(), 0);
}

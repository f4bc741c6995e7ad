//! What the compiler says of misuse.

#[test]
fn misuse_is_reported_in_words_of_the_author() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}

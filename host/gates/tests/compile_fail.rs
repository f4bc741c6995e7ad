//! What must not compile: skipping a gate, forging its proof, rewriting behind it.

#[test]
fn skipping_a_gate_or_rewriting_behind_it_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

//! portcullis-policy-result-sanitizer

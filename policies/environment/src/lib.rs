//! portcullis-policy-environment

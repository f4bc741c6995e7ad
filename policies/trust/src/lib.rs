//! portcullis-policy-trust

//! portcullis-policy-description-scan

//! portcullis-bundle

//! portcullis-registry

//! portcullis-config

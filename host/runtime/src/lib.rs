//! portcullis-runtime

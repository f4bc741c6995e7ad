//! portcullis-store

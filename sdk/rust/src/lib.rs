//! portcullis-sdk

//! portcullis

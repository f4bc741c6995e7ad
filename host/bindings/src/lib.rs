//! portcullis-bindings

//! portcullis-supervisor

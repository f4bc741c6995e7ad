//! portcullis-policy-config-screen

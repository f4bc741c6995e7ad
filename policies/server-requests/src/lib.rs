//! portcullis-policy-server-requests

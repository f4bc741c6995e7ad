//! portcullis-mcp

//! portcullis-mcp

pub mod jsonrpc;

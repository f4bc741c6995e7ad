//! Messages to endpoints that speak no MCP.

use std::time::Duration;

use portcullis_model::Secret;

use super::client::{HttpClient, PostError};
use super::{DeliverError, HttpFailure, Trusted};

/// Posts a JSON text to an endpoint that is none of MCP and whose answer matters to nobody but for its status.
pub async fn deliver(
    url: &str,
    headers: &[(String, Secret)],
    text: String,
    limit: Duration,
) -> Result<(), DeliverError> {
    let client = HttpClient::new(url, headers, &Trusted::default())?;
    let posting = client.post(text.into_bytes(), Some(Box::default()));
    match tokio::time::timeout(limit, posting).await {
        Err(_) => Err(DeliverError::TimedOut(limit)),
        // It was taken; what it says besides may be in any form.
        Ok(Ok(_) | Err(PostError { failure: HttpFailure::ContentType, .. })) => Ok(()),
        Ok(Err(error)) => Err(DeliverError::Http(error.failure)),
    }
}

//! The transport of a connection.

use tokio::process::ChildStdin;

use super::{CallError, CloseReason};
use crate::transport::stdio::LineWriter;

/// The transport of a connection.
#[derive(Debug)]
pub(super) enum Wire {
    /// Standard streams.
    Stdio(LineWriter<ChildStdin>),
}

impl Wire {
    /// Sends a text.
    pub(super) async fn send(&self, text: Vec<u8>) -> Result<(), CallError> {
        match self {
            Self::Stdio(writer) => writer
                .send(text)
                .await
                .map_err(|error| CallError::Closed(CloseReason::Unwritable(error.kind().to_string()))),
        }
    }

    /// Closes the gateway's side.
    pub(super) async fn close(&self) {
        match self {
            Self::Stdio(writer) => writer.close().await,
        }
    }
}

//! Lines of bounded length.

use std::io;

use portcullis_model::json::{Object, Value, parse_str};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// A line could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LineError {
    /// The other side took too long.
    #[error("the other side took too long")]
    TimedOut,
    /// The line is longer than any message.
    #[error("a message is too long")]
    TooLong,
    /// The line is no message.
    #[error("a message is no JSON object")]
    Malformed,
    /// The connection failed.
    #[error("the connection failed")]
    Io(#[from] io::Error),
}

/// Reads a message; nothing where the connection ended. Waits as long as it takes: who must not, sets a limit.
pub(super) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    longest: usize,
) -> Result<Option<Object>, LineError> {
    let mut line = Vec::new();
    let count = reader.take(longest as u64 + 1).read_until(b'\n', &mut line).await?;
    if count == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return if count > longest { Err(LineError::TooLong) } else { Ok(None) };
    }
    let text = std::str::from_utf8(&line).map_err(|_| LineError::Malformed)?;
    match parse_str(text.trim_end()) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) | Err(_) => Err(LineError::Malformed),
    }
}

/// Writes a message, within the patience of this protocol.
pub(super) async fn write(writer: &mut (impl AsyncWrite + Unpin), message: Object) -> Result<(), LineError> {
    let mut line = Value::from(message).to_json();
    line.push('\n');
    let writing = async {
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await
    };
    tokio::time::timeout(super::PATIENCE, writing).await.map_err(|_| LineError::TimedOut)??;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_from(text: &[u8]) -> Result<Option<Object>, LineError> {
        read(&mut tokio::io::BufReader::new(text), 20).await
    }

    #[tokio::test]
    async fn a_message_is_one_object_on_a_line_of_bounded_length() {
        assert!(read_from(b"{\"do\":\"list\"}\n").await.unwrap().is_some());
        assert!(read_from(b"").await.unwrap().is_none());
        assert!(read_from(b"{\"do\":").await.unwrap().is_none(), "a line that was cut off is no message");
        assert!(matches!(read_from(b"[]\n").await, Err(LineError::Malformed)));
        assert!(matches!(read_from(b"\xff\n").await, Err(LineError::Malformed)));
        assert!(matches!(read_from(b"{\"a\":\"0123456789012345\"}\n").await, Err(LineError::TooLong)));
    }
}

//! Lines of a client, each a message.

use portcullis_model::json::Limits;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::jsonrpc::{Incoming, MalformedReason, Recovery, read};

/// What is read at once: most messages fit.
const PIECE: usize = 64 * 1024;

/// Reads one message a line. A line that is too long is skipped, and its id made out as far as it can be.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(PIECE, reader), line: Vec::new() }
    }

    /// Reads the next line that is not empty; nothing at the end. An unfinished last line counts as one.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Incoming>> {
        let mut oversize: Option<Recovery> = None;
        self.line.clear();
        self.line.shrink_to(PIECE);
        loop {
            let piece = self.reader.fill_buf().await?;
            let ended = piece.is_empty();
            let end = memchr::memchr(b'\n', piece);
            let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let consumed = part.len() + usize::from(end.is_some());
            if oversize.is_none() && self.line.len() + part.len() > Limits::WIRE.bytes {
                let mut recovery = Recovery::default();
                recovery.feed(&self.line);
                self.line = Vec::new();
                oversize = Some(recovery);
            }
            match &mut oversize {
                Some(recovery) => recovery.feed(part),
                None => self.line.extend_from_slice(part),
            }
            self.reader.consume(consumed);
            if end.is_none() && !ended {
                continue;
            }
            if let Some(recovery) = oversize.take() {
                let reason = MalformedReason::Oversize { limit: Limits::WIRE.bytes };
                return Ok(Some(recovery.finish().into_incoming(reason)));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(read(&self.line)));
            }
            if ended {
                return Ok(None);
            }
            self.line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Malformed, Message};

    async fn all(text: &[u8]) -> Vec<Incoming> {
        let mut lines = Lines::new(text);
        let mut messages = Vec::new();
        while let Some(message) = lines.next().await.unwrap() {
            messages.push(message);
        }
        messages
    }

    #[tokio::test]
    async fn empty_lines_and_carriage_returns_are_passed_over_and_the_last_line_needs_no_end() {
        let messages =
            all(b"\n \r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}").await;
        let method = |message: &Incoming| {
            if let Incoming::Message(Message::Request(request)) = message { Some(request.method.clone()) } else { None }
        };
        let methods: Vec<_> = messages.iter().filter_map(method).collect();
        assert_eq!(methods, ["a", "b"]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_its_id_kept() {
        let mut text = br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"x":""#.to_vec();
        text.resize(text.len() + Limits::WIRE.bytes, b'x');
        text.extend_from_slice(b"\"}}\n{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"ping\"}\n");
        let messages = all(&text).await;
        assert_eq!(messages.len(), 2);
        assert!(matches!(
            &messages[0],
            Incoming::Malformed(Malformed { id: Some(id), reason: MalformedReason::Oversize { .. }, .. })
                if id.as_counter() == Some(9)
        ));
    }
}

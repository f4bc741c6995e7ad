//! Server-sent events on the wire (WHATWG HTML §9.2).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use tokio::time::{Instant, Sleep, sleep};

use super::stream::{Event, Reader};

/// What keeps a silent stream from being taken for a dead one: a comment.
const COMMENT: &[u8] = b":\n\n";

/// A body of server-sent events.
#[derive(Debug)]
pub(super) struct Events {
    reader: Reader,
    /// What the client should wait before it comes back; told once.
    retry: Option<Duration>,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
}

impl Events {
    pub(super) fn new(reader: Reader, retry: Option<Duration>, keep_alive: Duration) -> Self {
        Self { reader, retry, keep_alive, silence: Box::pin(sleep(keep_alive)) }
    }

    fn spoke(&mut self) {
        self.silence.as_mut().reset(Instant::now() + self.keep_alive);
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.reader.poll_event(context) {
            Poll::Ready(Some(event)) => {
                let retry = self.retry.take();
                self.spoke();
                Poll::Ready(Some(Ok(Frame::data(frame(&event, retry)))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                if self.silence.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.spoke();
                // Polled so that it wakes again.
                let _ = self.silence.as_mut().poll(context);
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(COMMENT)))))
            }
        }
    }
}

/// Writes an event.
fn frame(event: &Event, retry: Option<Duration>) -> Bytes {
    /// Room for everything but the data.
    const AROUND: usize = 64;
    let mut text = Vec::with_capacity(event.data.len() + AROUND);
    if let Some(id) = &event.id {
        text.extend_from_slice(b"id: ");
        text.extend_from_slice(id.as_bytes());
        text.push(b'\n');
    }
    if let Some(retry) = retry {
        text.extend_from_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
    }
    // A line end can only stand between the parts of JSON, where one is as good as another.
    for line in event.data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        text.extend_from_slice(b"data: ");
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.push(b'\n');
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(id: Option<&str>, data: &'static str, retry: Option<Duration>) -> String {
        let event = Event { id: id.map(str::to_owned), data: Bytes::from_static(data.as_bytes()) };
        String::from_utf8(frame(&event, retry).to_vec()).unwrap()
    }

    #[test]
    fn an_event_has_an_id_and_its_message_as_data() {
        assert_eq!(written(Some("p1.0"), "{}", None), "id: p1.0\ndata: {}\n\n");
        assert_eq!(written(None, "{}", None), "data: {}\n\n");
    }

    #[test]
    fn an_event_for_its_id_alone_has_empty_data() {
        assert_eq!(written(Some("p1.0"), "", Some(Duration::from_secs(1))), "id: p1.0\nretry: 1000\ndata: \n\n");
    }

    #[test]
    fn no_line_end_in_a_message_ends_its_event() {
        assert_eq!(written(None, "{\n\r\n}", None), "data: {\ndata: \ndata: \ndata: }\n\n");
    }
}

//! From lines to a stream of bytes.

use std::fmt;
use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

/// Writes lines from any number of tasks, each in the task that has one: no queue and no wake-up between them.
pub struct LineWriter<W> {
    state: Mutex<State<W>>,
}

struct State<W> {
    /// Nothing once it is closed.
    sink: Option<W>,
    /// A line whose writer went away half-way. It is finished before the next one: half a line would spoil both.
    unsent: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    /// Wraps a stream.
    pub fn new(sink: W) -> Self {
        Self { state: Mutex::new(State { sink: Some(sink), unsent: Vec::new(), written: 0 }) }
    }

    /// Writes a text as one line; it must have no line feed in it, which compact JSON never has.
    ///
    /// Dropping the future before its turn writes nothing; dropping it half-way leaves the rest to the next line.
    pub async fn send(&self, mut text: Vec<u8>) -> io::Result<()> {
        text.push(b'\n');
        let mut state = self.state.lock().await;
        state.flush().await?;
        state.unsent = text;
        state.flush().await
    }

    /// Closes the stream: the reader sees its end.
    pub async fn close(&self) {
        self.state.lock().await.sink = None;
    }
}

impl<W: AsyncWrite + Unpin> State<W> {
    async fn flush(&mut self) -> io::Result<()> {
        let sink = self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        while let Some(rest) = self.unsent.get(self.written..).filter(|rest| !rest.is_empty()) {
            match sink.write(rest).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        self.unsent = Vec::new();
        self.written = 0;
        sink.flush().await
    }
}

impl<W> fmt::Debug for LineWriter<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LineWriter").finish_non_exhaustive()
    }
}

//! The standard streams of this process, without a thread in between where the system allows.
//!
//! Reading a pipe by a helper thread costs a wake-up each way, several times what the gateway itself costs. So a pipe or
//! a socket is driven by the runtime; files and terminals, which cannot be, keep the helper thread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Where a client's messages come from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Where a client's messages go to.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens the standard input and output of this process. Call it once, inside the runtime.
pub fn standard_streams() -> (Input, Output) {
    (input(), output())
}

/// What kind of thing a stream is, with a descriptor of its own.
enum Kind {
    Pipe(OwnedFd),
    Socket(OwnedFd),
}

fn kind(stream: &impl AsFd) -> io::Result<Option<Kind>> {
    let descriptor = stream.as_fd().try_clone_to_owned()?;
    let file = std::fs::File::from(descriptor);
    let kind = file.metadata()?.file_type();
    let descriptor = OwnedFd::from(file);
    Ok(if kind.is_fifo() {
        Some(Kind::Pipe(descriptor))
    } else if kind.is_socket() {
        Some(Kind::Socket(descriptor))
    } else {
        None
    })
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(descriptor);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

fn input() -> Input {
    let opened = kind(&io::stdin()).and_then(|kind| match kind {
        Some(Kind::Pipe(descriptor)) => {
            reopened_receiver().or_else(|_| pipe::Receiver::from_owned_fd(descriptor)).map(boxed_input)
        }
        Some(Kind::Socket(descriptor)) => socket(descriptor).map(boxed_input),
        None => Ok(Box::new(tokio::io::stdin()) as Input),
    });
    opened.unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

fn output() -> Output {
    let opened = kind(&io::stdout()).and_then(|kind| match kind {
        Some(Kind::Pipe(descriptor)) => {
            reopened_sender().or_else(|_| pipe::Sender::from_owned_fd(descriptor)).map(boxed_output)
        }
        Some(Kind::Socket(descriptor)) => socket(descriptor).map(boxed_output),
        None => Ok(Box::new(tokio::io::stdout()) as Output),
    });
    opened.unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}

fn boxed_input(input: impl AsyncRead + Send + Unpin + 'static) -> Input {
    Box::new(input)
}

fn boxed_output(output: impl AsyncWrite + Send + Unpin + 'static) -> Output {
    Box::new(output)
}

/// Opens the pipe anew, so that only this process's end becomes non-blocking: whoever else holds the inherited one (a
/// shell, standard error) is not surprised. Works on Linux, where the pipe can be found by its descriptor.
fn reopened_receiver() -> io::Result<pipe::Receiver> {
    pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")
}

/// As [`reopened_receiver`], for the output.
fn reopened_sender() -> io::Result<pipe::Sender> {
    pipe::OpenOptions::new().open_sender("/proc/self/fd/1")
}

//! The connections of an HTTP door.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use portcullis_door::FrontDoor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

use super::HttpOptions;
use super::endpoint::Door;
use super::pace::{Answered, Pace, Paced};
use super::stall::Stalling;
use crate::gateway::Gateway;

/// Fields of a request's head: a browser sends 20.
const MOST_HEADERS: usize = 100;
/// Bytes of a request's head.
const LONGEST_HEAD: usize = 32 * 1024;
/// What is read at once: bodies of a megabyte come in few pieces.
const BUFFER: usize = 128 * 1024;
/// After descriptors ran out, or the like, the next connection is awaited so much later.
const PAUSE: Duration = Duration::from_millis(50);
/// At the end, connections have so long to finish what they write.
const FAREWELL: Duration = Duration::from_secs(2);
/// Sessions and streams are looked through at least so often.
const SWEEP: Duration = Duration::from_secs(5);
/// They are looked through at most so often, however soon a session is over.
const SHORTEST_SWEEP: Duration = Duration::from_millis(50);

/// Tokens that commands made or took back count after so long at most.
const REFRESH: Duration = Duration::from_secs(1);

/// What a connection beyond the limit is told.
const TURNED_AWAY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";

/// Why an HTTP door was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeHttpError {
    /// The address of the listener is not known.
    #[error("the address that is listened on is not known")]
    Address(#[source] std::io::Error),
    /// The address can be reached from other machines, and whoever does so would be let in.
    #[error("{0} can be reached from other machines, and nothing asks who they are")]
    NotLoopback(SocketAddr),
}

/// Serves clients over Streamable HTTP at `/mcp` and `/mcp/<server>` until `stop` is ready, then ends their sessions. The
/// servers keep running: that is up to [`Gateway::shutdown`]. Without a front door the listener must be bound to a loopback
/// address.
pub async fn serve_http(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeHttpError> {
    let bound = listener.local_addr().map_err(ServeHttpError::Address)?;
    if options.front_door.is_none() && !bound.ip().is_loopback() {
        return Err(ServeHttpError::NotLoopback(bound));
    }
    let door = Arc::new(Door::new(gateway, options, bound));
    let (ending, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    let pause = SWEEP.min(door.options.session_idle).max(SHORTEST_SWEEP);
    let mut sweep = tokio::time::interval(pause);
    let refreshing = door.options.front_door.clone().map(|front_door| AbortOnDrop(tokio::spawn(refresh(front_door))));
    tokio::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            // Those that are over; one that broke harms no other.
            Some(over) = connections.join_next() => {
                if over.is_err() {
                    tracing::error!("serving a connection broke");
                }
            }
            _ = sweep.tick() => door.sweep(),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if connections.len() < door.options.connections => {
                    connections.spawn(greet(stream, peer.ip(), Arc::clone(&door), ended.clone()));
                }
                Ok((stream, _)) => turn_away(&stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    drop(refreshing);
    door.sessions.close();
    door.listens.end();
    let _ = ending.send(());
    let all_over = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(FAREWELL, all_over).await.is_err() {
        connections.shutdown().await;
    }
    Ok(())
}

/// Has the front door take changes of its files, for as long as it is asked.
async fn refresh(front_door: Arc<FrontDoor>) {
    let mut tick = tokio::time::interval(REFRESH);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let front_door = Arc::clone(&front_door);
        // It reads from the disk.
        let _panicked = tokio::task::spawn_blocking(move || front_door.refresh()).await;
    }
}

/// A task that ends with this value.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Says that there are too many connections, as far as that can be said without waiting.
fn turn_away(stream: &TcpStream) {
    let _ = stream.try_write(TURNED_AWAY);
    tracing::warn!("a connection was turned away: there are too many");
}

/// Begins a connection, encrypted where that is wanted, and serves it.
async fn greet(stream: TcpStream, peer: IpAddr, door: Arc<Door>, ended: watch::Receiver<()>) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let Some(tls) = door.options.tls.clone() else {
        return serve(stream, peer, door, ended).await;
    };
    match tokio::time::timeout(door.options.head_limit, TlsAcceptor::from(tls).accept(stream)).await {
        Ok(Ok(stream)) => serve(stream, peer, door, ended).await,
        Ok(Err(error)) => tracing::debug!(%error, "a connection was not encrypted"),
        Err(_) => tracing::debug!("a connection was not encrypted in time"),
    }
}

/// Serves one connection until it is over.
async fn serve<S>(stream: S, peer: IpAddr, door: Arc<Door>, mut ended: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let pace = Pace::default();
    let stream = Stalling::new(stream, door.options.write_limit);
    let io = TokioIo::new(Paced::new(stream, pace.clone(), door.options.head_limit));
    let service = service_fn({
        let door = Arc::clone(&door);
        move |request| {
            let (door, answering) = (Arc::clone(&door), pace.begin());
            async move {
                let answer = door.answer(request, peer).await;
                Ok::<_, Infallible>(answer.map(|body| Answered { body, _answering: answering }))
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // From the end of an answer to the end of the next head: a head that has begun is due sooner, by its pace.
        .header_read_timeout(door.options.idle_limit + door.options.head_limit)
        .max_headers(MOST_HEADERS)
        .max_header_size(LONGEST_HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(io, service);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        _ = ended.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection broke");
    }
}

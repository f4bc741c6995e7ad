//! What an HTTP door is told.

use std::sync::Arc;
use std::time::Duration;

use portcullis_door::FrontDoor;

/// What an HTTP door is told: who may come in, and how much and how long each may take. The defaults are for one machine
/// with a few agents.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Who decides about every request. Without one whoever reaches the address comes in: that is for tests, and for loopback
    /// addresses alone.
    pub front_door: Option<Arc<FrontDoor>>,
    /// The certificate that connections are encrypted by; nothing where they are not, because they are on this machine or a
    /// proxy does it.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Connections at once; one more is turned away. Each costs a descriptor of the 1,024 that a process usually has.
    pub connections: usize,
    /// Sessions at once. One more ends the one that was idle for longest, or is refused where none is idle.
    pub sessions: usize,
    /// Requests of all sessions at once that are read or worked on; one more gets status 503.
    pub requests: usize,
    /// Requests of one principal among these; one more gets status 503. An agent with many helpers sends some hundred at once,
    /// and what is left over is for the others.
    pub requests_each: usize,
    /// Streams that one session listens on at once; one more ends the oldest.
    pub listeners: usize,
    /// Bytes of request bodies that are held in memory at once, beyond small ones.
    pub body_memory: usize,
    /// A request's head has to be complete within this: the first one from the moment that the connection is there, further
    /// ones from their first byte on.
    pub head_limit: Duration,
    /// A connection on which the client asks nothing more is kept so long.
    pub idle_limit: Duration,
    /// A request's body has to be complete within this.
    pub body_limit: Duration,
    /// A client that takes nothing of what is written to it for this long is cut off.
    pub write_limit: Duration,
    /// A session that does nothing for this long ends.
    pub session_idle: Duration,
    /// A request that is not answered within this is answered by a stream, so that no client gives up for silence. Clients
    /// wait 30 s for the head of a response and longer.
    pub patience: Duration,
    /// A comment is written to a silent stream this often: proxies and clients give up after half a minute and more.
    pub keep_alive: Duration,
    /// What a client should wait before it comes back to a stream that broke off.
    pub retry: Duration,
    /// A stream that has ended is kept so long for a client that missed the end.
    pub replay: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            front_door: None,
            tls: None,
            connections: 512,
            sessions: 256,
            requests: 1_024,
            requests_each: 512,
            listeners: 8,
            body_memory: 128 * 1024 * 1024,
            head_limit: Duration::from_secs(30),
            // Longer than the 90 s and less for which common clients keep idle connections: a client that uses one in the very
            // moment in which it is closed sees its request fail.
            idle_limit: Duration::from_mins(2),
            body_limit: Duration::from_secs(30),
            write_limit: Duration::from_mins(1),
            session_idle: Duration::from_mins(30),
            patience: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            replay: Duration::from_mins(1),
        }
    }
}

//! Health and figures, for whoever watches the gateway: on a loopback port of their own, so that no route of clients leads
//! there and no proxy passes them on by accident.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use portcullis_door::FrontDoor;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::ServeHttpError;
use super::guard::Names;

/// So many watchers at once; one more waits.
const MOST: usize = 8;
/// Each request of a watcher has to come within this.
const LIMIT: Duration = Duration::from_secs(10);
/// What the figures begin with.
const PREFIX: &str = "portcullis_door";

/// Serves `/health` and `/metrics` (the text format of Prometheus) until it is dropped. The listener must be bound to a
/// loopback address.
pub async fn serve_figures(listener: TcpListener, front_door: Option<Arc<FrontDoor>>) -> Result<(), ServeHttpError> {
    let bound = listener.local_addr().map_err(ServeHttpError::Address)?;
    if !bound.ip().is_loopback() {
        return Err(ServeHttpError::NotLoopback(bound));
    }
    let names = Arc::new(Names::of_address(bound));
    let mut watchers = JoinSet::new();
    loop {
        while watchers.len() >= MOST {
            let _over = watchers.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (names, front_door) = (Arc::clone(&names), front_door.clone());
        watchers.spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(&request, &names, front_door.as_deref());
                async move { Ok::<_, Infallible>(answer) }
            });
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(LIMIT)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // One that stops in the middle harms nobody.
            let _ended = tokio::time::timeout(LIMIT, serving).await;
        });
    }
}

fn answer(request: &Request<Incoming>, names: &Names, front_door: Option<&FrontDoor>) -> Response<Full<Bytes>> {
    if names.check(request.version(), request.uri(), request.headers()).is_err() {
        return text(StatusCode::FORBIDDEN, "this address is not to be reached by that name\n".to_owned());
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") => text(StatusCode::OK, "ok\n".to_owned()),
        (&Method::GET, "/metrics") => text(StatusCode::OK, front_door.map(figures).unwrap_or_default()),
        _ => text(StatusCode::NOT_FOUND, "there are /health and /metrics\n".to_owned()),
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Writes the figures of a front door: numbers alone, and no name of a client, a token or a source.
fn figures(front_door: &FrontDoor) -> String {
    let mut lines = String::new();
    for (name, count) in front_door.counts().list() {
        lines.push_str(&["# TYPE ", PREFIX, "_", name, "_total counter\n"].concat());
        lines.push_str(&[PREFIX, "_", name, "_total ", &count.to_string(), "\n"].concat());
    }
    let sizes = front_door.sizes();
    for (name, size) in
        [("tokens", sizes.tokens), ("grants", sizes.grants), ("codes", sizes.codes), ("sources", sizes.sources)]
    {
        lines.push_str(&["# TYPE ", PREFIX, "_", name, " gauge\n"].concat());
        lines.push_str(&[PREFIX, "_", name, " ", &size.to_string(), "\n"].concat());
    }
    lines
}

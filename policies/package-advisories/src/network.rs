//! The way to the endpoint. As a component, `wasi:http`; in native tests there is none.

use std::fmt;

/// Why the endpoint said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The host refused or failed to send the question, in its words.
    #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only a component asks"))]
    Failed(String),
    /// The endpoint refused to answer.
    #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only a component asks"))]
    Status(u16),
    /// What it answered is no list of advisories.
    Unreadable,
    /// The entry runs more packages than are looked up.
    TooMany,
    /// There is no network here.
    #[cfg(not(target_arch = "wasm32"))]
    NoNetwork,
}

impl fmt::Display for Silence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => write!(formatter, "the question was not sent ({reason})"),
            Self::Status(status) => write!(formatter, "the endpoint answered with status {status}"),
            Self::Unreadable => formatter.write_str("the endpoint answered something that is no list of advisories"),
            Self::TooMany => formatter.write_str("the entry runs more packages than are looked up"),
            #[cfg(not(target_arch = "wasm32"))]
            Self::NoNetwork => formatter.write_str("there is no network"),
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn post(_endpoint: &str, _body: &str) -> Result<Vec<u8>, Silence> {
    Err(Silence::NoNetwork)
}

#[cfg(target_arch = "wasm32")]
pub(crate) use component::post;

#[cfg(target_arch = "wasm32")]
mod component {
    use wasip2::http::outgoing_handler::handle;
    use wasip2::http::types::{ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};
    use wasip2::io::streams::StreamError;

    use super::Silence;

    /// The path of the question.
    const PATH: &str = "/v1/query";

    /// Bytes that one write to a stream takes (`blocking-write-and-flush` of `wasi:io/streams`).
    const CHUNK: usize = 4096;

    fn failed(what: &str) -> Silence {
        Silence::Failed(what.to_owned())
    }

    fn refused(code: &ErrorCode) -> Silence {
        let reason = match code {
            ErrorCode::HttpRequestDenied => "the grant does not name the endpoint",
            ErrorCode::DestinationIpProhibited => "the endpoint's address is not public and not named in the grant",
            ErrorCode::ConnectionTimeout | ErrorCode::HttpResponseTimeout => "the endpoint did not answer in time",
            ErrorCode::ConnectionRefused => "the endpoint refused the connection",
            ErrorCode::DestinationUnavailable => "the endpoint cannot be reached",
            ErrorCode::HttpResponseBodySize(_) => "the answer is longer than the grant allows",
            _ => "the request failed",
        };
        failed(reason)
    }

    /// Sends the question and returns the answer whole.
    pub(crate) fn post(endpoint: &str, body: &str) -> Result<Vec<u8>, Silence> {
        let request = request(endpoint)?;
        let outgoing = request.body().map_err(|()| failed("no body"))?;
        let pending = handle(request, None).map_err(|code| refused(&code))?;
        // A host that refused the request reads no body, and says so below.
        let written = write(&outgoing, body);
        let finished = OutgoingBody::finish(outgoing, None).is_ok();
        pending.subscribe().block();
        let answer = pending.get().and_then(Result::ok).ok_or_else(|| failed("no answer"))?;
        let answer = answer.map_err(|code| refused(&code))?;
        if answer.status() != 200 {
            return Err(Silence::Status(answer.status()));
        }
        if !written || !finished {
            return Err(failed("the question was not written"));
        }
        read(&answer).ok_or_else(|| failed("the answer broke off"))
    }

    fn request(endpoint: &str) -> Result<OutgoingRequest, Silence> {
        let (scheme, rest) = match endpoint.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest),
            Some((_, rest)) => (Scheme::Https, rest),
            None => return Err(failed("no endpoint")),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = match path.trim_end_matches('/') {
            "" => PATH.to_owned(),
            path => ["/", path, PATH].concat(),
        };
        let headers = [("content-type", "application/json"), ("accept", "application/json")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        let headers = Fields::from_list(&headers).map_err(|_| failed("no headers"))?;
        let request = OutgoingRequest::new(headers);
        let set = request.set_method(&Method::Post).is_ok()
            && request.set_scheme(Some(&scheme)).is_ok()
            && request.set_authority(Some(authority)).is_ok()
            && request.set_path_with_query(Some(&path)).is_ok();
        if set { Ok(request) } else { Err(failed("no endpoint")) }
    }

    fn write(outgoing: &OutgoingBody, body: &str) -> bool {
        let Ok(stream) = outgoing.write() else { return false };
        body.as_bytes().chunks(CHUNK).all(|chunk| stream.blocking_write_and_flush(chunk).is_ok())
    }

    fn read(answer: &IncomingResponse) -> Option<Vec<u8>> {
        let body = answer.consume().ok()?;
        let stream = body.stream().ok()?;
        let mut bytes = Vec::new();
        loop {
            match stream.blocking_read(64 * 1024) {
                Ok(chunk) => bytes.extend(chunk),
                Err(StreamError::Closed) => return Some(bytes),
                Err(StreamError::LastOperationFailed(_)) => return None,
            }
        }
    }
}

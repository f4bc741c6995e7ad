//! What the front door answers itself: documents, consent, tokens.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use portcullis_door::FrontDoor;

use super::answer::{self, Answer};

/// Longest body: a form of a browser or a client, whose longest field has two kilobytes.
const LONGEST: usize = 64 * 1024;

/// Answers a request at one of the front door's own addresses.
pub(super) async fn answer(
    front_door: &Arc<FrontDoor>,
    head: &Parts,
    body: Incoming,
    peer: IpAddr,
    limit: Duration,
) -> Answer {
    let body = match tokio::time::timeout(limit, Limited::new(body, LONGEST).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return answer::refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is longer than any form of these addresses",
            );
        }
        Ok(Err(_)) => return answer::refusal(StatusCode::BAD_REQUEST, "the body broke off"),
        Err(_) => return answer::refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
    };
    answer::of_front_door(front_door.answer(head, &body, peer).await)
}

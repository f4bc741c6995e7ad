//! Answers that are given again to the same request.
//!
//! A policy has no memory of earlier evaluations, and the same package is looked up each time that its server starts. What
//! is held here is the host's: it lives as long as the policy is loaded and is never written to disk.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, Response, StatusCode};
use portcullis_model::Digest;
use wasmtime_wasi_io::bytes::Bytes;

/// Answers of one policy: the packages of some dozens of servers.
const MOST: usize = 256;

/// Bytes of all their bodies.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Successful answers, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<VecDeque<Known>>);

#[derive(Debug)]
struct Known {
    key: Digest,
    since: Instant,
    answer: Response<Bytes>,
}

/// Returns what tells requests apart: method, URL, headers in their order, body.
pub(super) fn key(request: &http::Request<Bytes>, url: &str) -> Digest {
    let headers = request.headers().iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()]);
    let parts = [request.method().as_str().as_bytes(), url.as_bytes(), request.body().as_ref()];
    Digest::of_parts(parts.into_iter().chain(headers))
}

impl Answers {
    fn known(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answer that was given to the same request less than `fresh` ago.
    pub(super) fn recall(&self, key: Digest, fresh: Duration) -> Option<Response<Bytes>> {
        let mut known = self.known();
        known.retain(|known| known.since.elapsed() < fresh);
        known.iter().find(|known| known.key == key).map(|known| known.answer.clone())
    }

    /// Keeps an answer that says something: a refusal or an outage is asked about again. A look-up is often a POST, so that
    /// counts as one too; what changes something on the other side is not what a policy asks for.
    pub(super) fn keep(&self, key: Digest, method: &Method, answer: &Response<Bytes>) {
        if answer.status() != StatusCode::OK || !(method == Method::GET || method == Method::POST) {
            return;
        }
        let mut known = self.known();
        known.retain(|known| known.key != key);
        known.push_back(Known { key, since: Instant::now(), answer: answer.clone() });
        let mut bytes: usize = known.iter().map(|known| known.answer.body().len()).sum();
        while known.len() > MOST || bytes > MOST_BYTES {
            let Some(oldest) = known.pop_front() else { break };
            bytes -= oldest.answer.body().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn answer(status: u16, bytes: usize) -> Response<Bytes> {
        Response::builder().status(status).body(Bytes::from(vec![0; bytes])).unwrap()
    }

    fn request(body: &'static str) -> http::Request<Bytes> {
        http::Request::builder().method("POST").header("a", "b").body(Bytes::from_static(body.as_bytes())).unwrap()
    }

    #[test]
    fn requests_that_differ_in_anything_have_different_keys() {
        let known = key(&request("a"), "https://one/");
        assert_eq!(known, key(&request("a"), "https://one/"));
        assert_ne!(known, key(&request("b"), "https://one/"));
        assert_ne!(known, key(&request("a"), "https://one/two"));
        let mut other = request("a");
        other.headers_mut().append("c", "d".parse().unwrap());
        assert_ne!(known, key(&other, "https://one/"));
    }

    #[test]
    fn only_a_success_is_given_again_and_only_while_it_is_fresh() {
        let (answers, key) = (Answers::default(), Digest::of(b"one"));
        answers.keep(key, &Method::POST, &answer(503, 1));
        answers.keep(key, &Method::DELETE, &answer(200, 1));
        assert!(answers.recall(key, HOUR).is_none());
        answers.keep(key, &Method::POST, &answer(200, 1));
        assert!(answers.recall(key, HOUR).is_some());
        assert!(answers.recall(key, Duration::ZERO).is_none());
    }

    #[test]
    fn the_oldest_go_where_there_are_too_many_or_too_large_ones() {
        let (answers, key) = (Answers::default(), |number: usize| Digest::of(&number.to_le_bytes()));
        (0..=MOST).for_each(|number| answers.keep(key(number), &Method::GET, &answer(200, 1)));
        assert!(answers.recall(key(0), HOUR).is_none() && answers.recall(key(1), HOUR).is_some());
        answers.keep(key(MOST + 1), &Method::GET, &answer(200, MOST_BYTES));
        assert!(answers.recall(key(MOST), HOUR).is_none() && answers.recall(key(MOST + 1), HOUR).is_some());
    }
}

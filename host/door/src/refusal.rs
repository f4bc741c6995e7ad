//! Why a request is not let in, and how that is told (RFC 6750 §3, RFC 9728 §5.1).

use http::{HeaderValue, StatusCode};

/// The one scope: use of what a resource offers. What a token may do beyond that is decided by policies, call by call.
pub(crate) const SCOPE: &str = "mcp";

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It shows no token.
    Missing,
    /// It shows one that is none, or none for this route.
    Invalid,
    /// It shows one that opens other routes.
    OtherRoutes,
    /// Its credentials cannot be read.
    Malformed,
    /// It has its token in the address, where it is written down on the way.
    InAddress,
    /// Its source was refused too often.
    TooOften {
        /// Seconds until it may ask again.
        seconds: u64,
    },
}

/// A request that is not let in: a status, the headers that go with it, and a text that says why.
#[derive(Debug)]
pub struct Refusal {
    pub(crate) reason: Reason,
    challenge: Option<HeaderValue>,
}

impl Refusal {
    /// Builds one for a resource that describes itself at an address.
    pub(crate) fn new(reason: Reason, metadata: Option<&str>) -> Self {
        let error = match reason {
            // Nothing was shown, so nothing is wrong with it (OAuth 2.1 §5.3).
            Reason::Missing => None,
            Reason::Invalid => Some("invalid_token"),
            Reason::OtherRoutes => Some("insufficient_scope"),
            Reason::Malformed | Reason::InAddress => Some("invalid_request"),
            Reason::TooOften { .. } => return Self { reason, challenge: None },
        };
        let mut challenge = "Bearer".to_owned();
        let mut separator = ' ';
        let mut add = |name: &str, value: &str| {
            challenge.push(separator);
            challenge.push_str(name);
            challenge.push_str("=\"");
            challenge.push_str(value);
            challenge.push('"');
            separator = ',';
        };
        if let Some(error) = error {
            add("error", error);
        }
        if let Some(metadata) = metadata {
            add("resource_metadata", metadata);
            add("scope", SCOPE);
        }
        // Made of fixed words and an address without quotes.
        Self { reason, challenge: HeaderValue::from_str(&challenge).ok() }
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        match self.reason {
            Reason::Missing | Reason::Invalid => StatusCode::UNAUTHORIZED,
            Reason::OtherRoutes => StatusCode::FORBIDDEN,
            Reason::Malformed | Reason::InAddress => StatusCode::BAD_REQUEST,
            Reason::TooOften { .. } => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// Returns the value of the header `WWW-Authenticate`.
    pub fn challenge(&self) -> Option<&HeaderValue> {
        self.challenge.as_ref()
    }

    /// Returns after how many seconds the source may ask again, where it asked too often.
    pub fn retry_after(&self) -> Option<u64> {
        match self.reason {
            Reason::TooOften { seconds } => Some(seconds),
            Reason::Missing | Reason::Invalid | Reason::OtherRoutes | Reason::Malformed | Reason::InAddress => None,
        }
    }

    /// Says why. The text never depends on what the request holds.
    pub fn describe(&self) -> &'static str {
        match self.reason {
            Reason::Missing => "this needs a bearer token of the gateway",
            Reason::Invalid => "this bearer token is none of the gateway's, or not any more, or not for this address",
            Reason::OtherRoutes => "this bearer token opens other servers: use the address of one of them",
            Reason::Malformed => "the Authorization header is there twice, or cannot be read",
            Reason::InAddress => "a token belongs into the Authorization header, and this one is now known on the way",
            Reason::TooOften { .. } => "too many requests without the right token came from there",
        }
    }
}

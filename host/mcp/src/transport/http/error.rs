//! What goes wrong over HTTP.

use std::error::Error;
use std::path::PathBuf;

use portcullis_oauth::{Keeper, KeeperError};

/// A client could not be built from an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpSetupError {
    /// The URL is none. It may hold secrets, so it is not shown.
    #[error("the URL cannot be read")]
    Url,
    /// The URL's scheme is not one of HTTP.
    #[error("the URL's scheme {0:?} is neither http nor https")]
    Scheme(String),
    /// A header cannot be sent. Its value is not shown.
    #[error("the header {0:?} has a name or a value that cannot be sent")]
    Header(String),
    /// A header is one of those in which arguments of calls are repeated.
    #[error("the header {0:?} cannot be set by an entry: it repeats an argument of a call")]
    Reserved(String),
    /// A file that the entry names cannot be read.
    #[error("`{key}`: the file {} cannot be read", path.display())]
    File {
        /// The key of the entry.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file that the entry names does not hold what it should. Nothing of it is shown.
    #[error("`{key}`: the file {} holds no {wanted} in PEM form", path.display())]
    Pem {
        /// The key of the entry.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The private key is encrypted.
    #[error("`{key}`: the key in {} is encrypted, which is not supported; use a key that only you can read", path.display())]
    Encrypted {
        /// The key of the entry.
        key: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Reading files broke.
    #[error("the files of the entry could not be read")]
    Broken,
    /// The HTTP client could not be built.
    #[error("the HTTP client could not be built")]
    Client(#[source] reqwest::Error),
}

/// Why an exchange over HTTP failed. Nothing of the URL or the body is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpFailure {
    /// The server could not be reached; the innermost cause.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The exchange broke off; the innermost cause.
    #[error("the exchange broke off: {0}")]
    Interrupted(String),
    /// The server wants credentials, or others.
    #[error("the server refused the credentials with status {status}")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// The `WWW-Authenticate` header, where it is text.
        challenge: Option<String>,
    },
    /// The server wants a login, and there is none that it takes.
    #[error("{reason}; `portcullis login {server}` makes a new one")]
    NoLogin {
        /// The server's name in the config.
        server: String,
        /// What is wrong with the login.
        reason: String,
    },
    /// The login cannot be used at the moment.
    #[error("the login at the server cannot be used now: {0}")]
    LoginUnusable(String),
    /// The login does not reach as far as the server wants.
    #[error(
        "the login at the server does not reach far enough for this; `portcullis login {0}` asks for what is missing"
    )]
    LoginTooNarrow(String),
    /// The server answered with another status than success.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// The server redirected to another origin or with another method.
    #[error("the server redirects with status {0}, which is not followed: it could lead credentials elsewhere")]
    Redirected(u16),
    /// The answer is neither JSON nor a stream of events.
    #[error("the server answered with content that is neither JSON nor an event stream; is this an MCP endpoint?")]
    ContentType,
    /// The server named no usable place for messages, or one of another origin.
    #[error(
        "the server wants messages to be sent to another origin, which is not done: it could lead credentials elsewhere"
    )]
    Endpoint,
    /// The exchange ended without an answer to the request.
    #[error("the exchange ended without an answer")]
    NoAnswer,
    /// The session is not known to the server any more.
    #[error("the session is not known to the server any more")]
    SessionExpired,
}

/// Why something was not delivered. Nothing of the URL is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeliverError {
    /// The URL or a header makes no request.
    #[error("there is no such endpoint")]
    Setup(#[from] HttpSetupError),
    /// It was not taken.
    #[error(transparent)]
    Http(HttpFailure),
    /// It took too long.
    #[error("the endpoint did not answer within {} s", .0.as_secs())]
    TimedOut(std::time::Duration),
}

impl HttpFailure {
    pub(super) fn from_reqwest(error: &reqwest::Error) -> Self {
        let cause = innermost(error);
        if error.is_connect() { Self::Unreachable(cause) } else { Self::Interrupted(cause) }
    }
}

impl HttpFailure {
    pub(super) fn from_keeper(keeper: &Keeper, error: &KeeperError) -> Self {
        let mut reason = error.to_string();
        let mut cause = Error::source(error);
        while let Some(inner) = cause {
            reason = format!("{reason}: {inner}");
            cause = inner.source();
        }
        if error.needs_login() {
            Self::NoLogin { server: keeper.server().to_string(), reason }
        } else {
            Self::LoginUnusable(reason)
        }
    }

    /// Returns true where it says that the credentials are no good: whatever else is tried with them would meet the same.
    pub(crate) fn is_of_credentials(&self) -> bool {
        match self {
            Self::Unauthorized { .. } | Self::NoLogin { .. } | Self::LoginUnusable(_) | Self::LoginTooNarrow(_) => true,
            Self::Unreachable(_)
            | Self::Interrupted(_)
            | Self::Status(_)
            | Self::Redirected(_)
            | Self::ContentType
            | Self::Endpoint
            | Self::NoAnswer
            | Self::SessionExpired => false,
        }
    }
}

/// Returns the text of the innermost cause: those above repeat the URL, which may hold a key.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = cause.and_then(Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "no further cause is known".to_owned(), ToString::to_string)
}

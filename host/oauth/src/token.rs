//! Asking a token endpoint (RFC 6749 §3.2, §5, §6).

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_config::ClientAuthentication;
use portcullis_model::Secret;
use portcullis_model::json::Value;
use url::Url;

use crate::challenge::scopes;
use crate::grant::{Client, Tokens};
use crate::web::{Answer, Web, WebError};

/// Longest token: it goes into a header of every request.
const LONGEST_TOKEN: usize = 16 * 1024;
/// Longest life that is believed: a number that overflows a clock would be none.
const LONGEST_LIFE: u64 = 10 * 365 * 86_400;

/// A token endpoint gave no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It could not be asked.
    #[error(transparent)]
    Web(#[from] WebError),
    /// It refused, with a code of OAuth.
    #[error("the authorization server refused with `{code}`")]
    Refused {
        /// The code, such as `invalid_grant`.
        code: String,
        /// What it says besides: foreign text, to be escaped where it is shown.
        description: Option<String>,
    },
    /// It answered with a status that says nothing of the request.
    #[error("the authorization server answered with status {0}")]
    Status(u16),
    /// What it gave is no token that can be sent.
    #[error("what the authorization server gave is no usable token")]
    Unusable,
}

impl TokenError {
    /// Returns true where another try with the same can end differently.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Web(_) | Self::Status(_) => true,
            Self::Refused { code, .. } => {
                matches!(code.as_str(), "temporarily_unavailable" | "server_error" | "slow_down")
            }
            Self::Unusable => false,
        }
    }
}

/// Sends a request to a token endpoint, as that client.
pub(crate) async fn ask(
    web: &Web,
    endpoint: &Url,
    client: &Client,
    form: &[(&str, &str)],
) -> Result<Tokens, TokenError> {
    let answer = post(web, endpoint, client, form).await?;
    read(&answer, SystemTime::now())
}

/// Sends a form to an endpoint, as that client.
pub(crate) async fn post(
    web: &Web,
    endpoint: &Url,
    client: &Client,
    form: &[(&str, &str)],
) -> Result<Answer, WebError> {
    let mut form = form.to_vec();
    let mut basic = None;
    match (client.authentication, &client.secret) {
        (ClientAuthentication::Basic, Some(secret)) => {
            // Both are form-encoded first (RFC 6749 §2.3.1).
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            basic = Some(STANDARD.encode(format!("{}:{}", encoded(&client.id), encoded(secret.expose()))));
        }
        (ClientAuthentication::Post, Some(secret)) => {
            form.extend([("client_id", client.id.as_str()), ("client_secret", secret.expose())]);
        }
        (ClientAuthentication::None, _) | (_, None) => form.push(("client_id", client.id.as_str())),
    }
    web.post_form(endpoint, &form, basic.as_deref()).await
}

fn read(answer: &Answer, now: SystemTime) -> Result<Tokens, TokenError> {
    let document = answer.document();
    if !answer.is_success() {
        return Err(refusal(answer.status, document.as_ref()));
    }
    let document = document.ok_or(TokenError::Unusable)?;
    // Some say what is wrong with a status of success.
    if document.get("error").is_some() {
        return Err(refusal(400, Some(&document)));
    }
    let token = |key: &str| {
        let text = document.get(key).and_then(Value::as_str);
        text.filter(|text| is_token(text)).map(Secret::new)
    };
    let kind = document.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    let access = token("access_token").filter(|_| kind.eq_ignore_ascii_case("bearer")).ok_or(TokenError::Unusable)?;
    let life = document.get("expires_in").and_then(|life| {
        let number = life.as_number().and_then(portcullis_model::json::Number::as_f64);
        number.or_else(|| life.as_str()?.parse().ok()).filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
    });
    let life = life.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let life = life.map(|life| life.min(Duration::from_secs(LONGEST_LIFE)));
    Ok(Tokens {
        access,
        refresh: token("refresh_token"),
        made: seconds(now),
        expires: life.map(|life| seconds(now + life)),
        scopes: document.get("scope").and_then(Value::as_str).map(scopes),
    })
}

pub(crate) fn refusal(status: u16, document: Option<&Value>) -> TokenError {
    let text = |key: &str| document.and_then(|document| document.get(key)).and_then(Value::as_str);
    let is_code = |code: &&str| {
        (1..=64).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    // A status of the server's own troubles says nothing of the request, whatever stands beside it.
    match text("error").filter(is_code).filter(|_| (400..500).contains(&status)) {
        Some(code) => {
            let description = text("error_description").map(|text| text.chars().take(300).collect());
            TokenError::Refused { code: code.to_owned(), description }
        }
        None => TokenError::Status(status),
    }
}

/// Returns true for what can stand in a header behind `Bearer` (RFC 6750 §2.1), and for the few that are not quite so.
fn is_token(text: &str) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns a moment in seconds since 1970.
pub(crate) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

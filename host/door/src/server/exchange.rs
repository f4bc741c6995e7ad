//! `/token`, `/revoke` and `/register`: what clients ask for without a browser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use portcullis_model::object;

use super::AuthorizationServer;
use crate::ask::{LONGEST_CLIENT_ID, is_scope};
use crate::counts::Counts;
use crate::credential::Credentials;
use crate::document;
use crate::form::Form;
use crate::grants::{CodeShown, Denied, Issued};
use crate::refusal::SCOPE;
use crate::registration;
use crate::reply::{self, Reply};
use crate::route::Route;

/// Seconds after which it may be tried again where there is no room.
const RETRY: u64 = 5;

/// Who asks, as far as it was proved.
struct Authenticated {
    client: String,
}

fn invalid_request(text: &str) -> Box<Reply> {
    Box::new(reply::error(StatusCode::BAD_REQUEST, "invalid_request", text))
}

/// Reads a form; anything else is refused.
fn form(head: &Parts, body: &[u8]) -> Result<Form, Box<Reply>> {
    let media_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(invalid_request("the body must be application/x-www-form-urlencoded"));
    }
    if head.uri.query().is_some_and(|query| !query.is_empty()) {
        return Err(invalid_request("parameters belong into the body"));
    }
    let form = Form::parse(body);
    if form.repeats_any() {
        return Err(invalid_request("a parameter is there twice, or there are too many"));
    }
    Ok(form)
}

/// Reads the id and the secret of `Basic` credentials (RFC 6749 §2.3.1); nothing where there are none.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Box<Reply>> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(invalid_request("the Authorization header is there twice")),
    };
    let read = || {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        let (id, secret) = text.split_once(':').filter(|_| scheme.eq_ignore_ascii_case("Basic"))?;
        Some((decoded(id)?, decoded(secret)?))
    };
    read().map(Some).ok_or_else(|| unauthorized(true))
}

/// Undoes the encoding of forms, by which both parts are written.
fn decoded(text: &str) -> Option<String> {
    // Read as the name of a pair: neither `&` nor `=` may stand in it unencoded.
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    match (pairs.next(), pairs.next()) {
        (Some((name, value)), None) if value.is_empty() && !text.contains('=') => Some(name.into_owned()),
        (None, _) => Some(String::new()),
        (Some(_), _) => None,
    }
}

fn unauthorized(by_header: bool) -> Box<Reply> {
    let mut reply =
        reply::error(StatusCode::UNAUTHORIZED, "invalid_client", "the client is not known, or not as it was shown");
    if by_header {
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"portcullis\""));
    }
    Box::new(reply)
}

impl AuthorizationServer {
    /// Finds out which client asks. One without a secret only says so, and is then bound to what it shows besides.
    fn authenticate(&self, head: &Parts, form: &Form) -> Result<Authenticated, Box<Reply>> {
        let header = basic(&head.headers)?;
        let by_header = header.is_some();
        let (id, secret) = match (&header, form.get("client_id"), form.get("client_secret")) {
            (Some(_), _, Some(_)) => return Err(invalid_request("the client shows its secret twice")),
            (Some((id, _)), Some(other), None) if id != other => {
                return Err(invalid_request("two clients are named"));
            }
            (Some((id, secret)), _, None) => (id.as_str(), Some(secret.as_str())),
            (None, Some(id), secret) => (id, secret),
            (None, None, _) => return Err(unauthorized(false)),
        };
        let is_document = || self.settings.client_documents.allowed && document::read_id(id).is_some();
        let is_shown = id.len() <= LONGEST_CLIENT_ID
            && match self.client(id) {
                Some(client) => client.is_shown_by(secret),
                // Nothing needs to be fetched: it has no secret, and what it shows was bound to its id.
                None => is_document(),
            };
        if is_shown { Ok(Authenticated { client: id.to_owned() }) } else { Err(unauthorized(by_header)) }
    }

    /// Returns the route that a request is about, where it says so.
    fn resource(&self, form: &Form) -> Result<Option<Route>, Box<Reply>> {
        let target = || {
            Box::new(reply::error(
                StatusCode::BAD_REQUEST,
                "invalid_target",
                "resource must be the one that was consented to",
            ))
        };
        form.get("resource").map(|resource| self.url.route_of(resource).ok_or_else(target)).transpose()
    }

    /// Answers a client that wants tokens.
    pub(crate) async fn token(&self, head: &Parts, body: &[u8], credentials: &Credentials, counts: &Counts) -> Reply {
        match self.try_token(head, body, credentials, counts).await {
            Ok(reply) => reply,
            Err(reply) => *reply,
        }
    }

    async fn try_token(
        &self,
        head: &Parts,
        body: &[u8],
        credentials: &Credentials,
        counts: &Counts,
    ) -> Result<Reply, Box<Reply>> {
        let form = form(head, body)?;
        let Authenticated { client } = self.authenticate(head, &form)?;
        let resource = self.resource(&form)?;
        let missing = |text| move || invalid_request(text);
        let now = self.now();
        let outcome = match form.get("grant_type") {
            Some("authorization_code") => {
                let shown = CodeShown {
                    code: form.get("code").ok_or_else(missing("code is missing"))?,
                    client: &client,
                    redirect: form.get("redirect_uri"),
                    verifier: form.get("code_verifier").ok_or_else(missing("code_verifier is missing"))?,
                    resource: resource.as_ref(),
                };
                self.grants.redeem(&shown, &self.settings, credentials, now)
            }
            Some("refresh_token") => {
                let token = form.get("refresh_token").ok_or_else(missing("refresh_token is missing"))?;
                if form.get("scope").is_some_and(|scope| !is_scope(scope)) {
                    return Err(Box::new(reply::error(
                        StatusCode::BAD_REQUEST,
                        "invalid_scope",
                        "the only scope is mcp",
                    )));
                }
                self.grants.refresh(token, &client, resource.as_ref(), &self.settings, credentials, now)
            }
            Some(_) => {
                let text = "grant_type must be authorization_code or refresh_token";
                return Err(Box::new(reply::error(StatusCode::BAD_REQUEST, "unsupported_grant_type", text)));
            }
            None => return Err(invalid_request("grant_type is missing")),
        };
        let shown = crate::shown::plain(&client, 64);
        match outcome {
            Ok(issued) => {
                // Before it is told of: what a client holds survives a restart.
                self.grants.keep().await;
                counts.issued();
                tracing::info!(client = shown, seconds = issued.seconds, "a client got tokens");
                Ok(tokens(&issued))
            }
            Err(Denied::Replayed) => {
                self.grants.keep().await;
                counts.replayed();
                tracing::error!(
                    client = shown,
                    "a code or token was used a second time, so that somebody has a copy: all tokens of that consent have ended"
                );
                Err(denied())
            }
            Err(Denied::Invalid) => Err(denied()),
            Err(Denied::Target) => {
                let text = "resource must be the one that was consented to";
                Err(Box::new(reply::error(StatusCode::BAD_REQUEST, "invalid_target", text)))
            }
            Err(Denied::Busy) => {
                let text = "there is no room for more tokens now";
                let mut reply = reply::error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", text);
                reply.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from(RETRY));
                Err(Box::new(reply))
            }
        }
    }

    /// Answers a client that gives a token back (RFC 7009): the answer is the same whether there was one.
    pub(crate) async fn revoke(&self, head: &Parts, body: &[u8], credentials: &Credentials) -> Reply {
        let revoked = || -> Result<bool, Box<Reply>> {
            let form = form(head, body)?;
            let Authenticated { client } = self.authenticate(head, &form)?;
            let token = form.get("token").ok_or_else(|| invalid_request("token is missing"))?;
            let ended = self.grants.give_back(token, &client, credentials);
            if ended {
                tracing::info!(client = %crate::shown::plain(&client, 64), "a client gave its tokens back");
            }
            Ok(ended)
        };
        match revoked() {
            Ok(ended) => {
                if ended {
                    self.grants.keep().await;
                }
                reply::json(StatusCode::OK, object! {})
            }
            Err(reply) => *reply,
        }
    }

    /// Answers a client that registers itself.
    pub(crate) fn register(&self, head: &Parts, body: &[u8]) -> Reply {
        let media_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return reply::error(
                StatusCode::BAD_REQUEST,
                "invalid_client_metadata",
                "the body must be application/json",
            );
        }
        match registration::register(body, &self.seal, self.now()) {
            Ok(told) => reply::json(StatusCode::CREATED, told),
            Err(refused) => reply::error(StatusCode::BAD_REQUEST, refused.code, refused.text),
        }
    }
}

fn denied() -> Box<Reply> {
    let text = "the code or token is none of this client, or not any more";
    Box::new(reply::error(StatusCode::BAD_REQUEST, "invalid_grant", text))
}

fn tokens(issued: &Issued) -> Response<Vec<u8>> {
    reply::json(
        StatusCode::OK,
        object! {
            "access_token" => issued.access.expose(),
            "token_type" => "Bearer",
            "expires_in" => issued.seconds,
            "refresh_token" => issued.refresh.expose(),
            "scope" => SCOPE,
        },
    )
}

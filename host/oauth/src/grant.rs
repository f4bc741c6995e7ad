//! What the gateway holds for one server: who it is to the authorization server, and the tokens.

use portcullis_config::ClientAuthentication;
use portcullis_model::json::{Object, Value};
use portcullis_model::{Secret, object};
use url::Url;

use crate::challenge::scopes;

/// The version of the file.
const VERSION: u64 = 1;

/// Who the gateway is to an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) authentication: ClientAuthentication,
    /// Where the browser comes back to, where this client was registered for that alone.
    pub(crate) registered_for: Option<String>,
}

/// Tokens as they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// When they came, in seconds since 1970.
    pub(crate) made: u64,
    /// When the access token ends, likewise; nothing where nobody said.
    pub(crate) expires: Option<u64>,
    /// What they are for; nothing where nobody said.
    pub(crate) scopes: Option<Vec<String>>,
}

/// A consent of the operator with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The URL of the server in the config: the tokens go there and nowhere else.
    pub(crate) url: String,
    /// What the authorization server calls it.
    pub(crate) resource: String,
    /// The authorization server that gave the tokens, and that alone may renew them.
    pub(crate) issuer: String,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) client: Client,
    pub(crate) tokens: Tokens,
    /// Scopes that were asked for.
    pub(crate) asked: Vec<String>,
    /// Scopes that the server wanted since then, and that a new consent is needed for.
    pub(crate) missing: Vec<String>,
}

impl Grant {
    /// Returns what the tokens are for: what the server said, or what was asked for (RFC 6749 §5.1).
    pub(crate) fn scopes(&self) -> &[String] {
        self.tokens.scopes.as_deref().unwrap_or(&self.asked)
    }

    /// Takes what a refresh gave. What it leaves out stays as it was (RFC 6749 §6).
    pub(crate) fn renew(&mut self, tokens: Tokens) {
        let former = std::mem::replace(&mut self.tokens, tokens);
        self.tokens.refresh = self.tokens.refresh.take().or(former.refresh);
        self.tokens.scopes = self.tokens.scopes.take().or(former.scopes);
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut client = object! {
            "id" => self.client.id.as_str(), "authentication" => self.client.authentication.as_str(),
        };
        if let Some(secret) = &self.client.secret {
            client.insert("secret", secret.expose());
        }
        if let Some(address) = &self.client.registered_for {
            client.insert("registered_for", address.as_str());
        }
        let mut tokens = object! { "access" => self.tokens.access.expose(), "made" => self.tokens.made };
        if let Some(refresh) = &self.tokens.refresh {
            tokens.insert("refresh", refresh.expose());
        }
        if let Some(expires) = self.tokens.expires {
            tokens.insert("expires", expires);
        }
        if let Some(scopes) = &self.tokens.scopes {
            tokens.insert("scope", scopes.join(" "));
        }
        let mut object: Object = object! {
            "version" => VERSION,
            "url" => self.url.as_str(),
            "resource" => self.resource.as_str(),
            "issuer" => self.issuer.as_str(),
            "token_endpoint" => self.token_endpoint.as_str(),
            "client" => client,
            "tokens" => tokens,
            "asked" => self.asked.join(" "),
            "missing" => self.missing.join(" "),
        };
        if let Some(endpoint) = &self.revocation_endpoint {
            object.insert("revocation_endpoint", endpoint.as_str());
        }
        object.into()
    }

    /// Reads it; nothing where it is not what was written.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if value.get("version").and_then(Value::as_u64) != Some(VERSION) {
            return None;
        }
        let (client, tokens) = (value.get("client")?, value.get("tokens")?);
        let methods = [ClientAuthentication::None, ClientAuthentication::Basic, ClientAuthentication::Post];
        let method = text(client, "authentication")?;
        Some(Self {
            url: text(value, "url")?,
            resource: text(value, "resource")?,
            issuer: text(value, "issuer")?,
            token_endpoint: Url::parse(&text(value, "token_endpoint")?).ok()?,
            revocation_endpoint: text(value, "revocation_endpoint").and_then(|text| Url::parse(&text).ok()),
            client: Client {
                id: text(client, "id")?,
                secret: text(client, "secret").map(Secret::new),
                authentication: methods.into_iter().find(|known| known.as_str() == method)?,
                registered_for: text(client, "registered_for"),
            },
            tokens: Tokens {
                access: Secret::new(text(tokens, "access")?),
                refresh: text(tokens, "refresh").map(Secret::new),
                made: tokens.get("made").and_then(Value::as_u64)?,
                expires: tokens.get("expires").and_then(Value::as_u64),
                scopes: text(tokens, "scope").map(|text| scopes(&text)),
            },
            asked: scopes(&text(value, "asked")?),
            missing: scopes(&text(value, "missing")?),
        })
    }
}

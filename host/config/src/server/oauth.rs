//! `auth` and `oauth`: how the gateway proves who it is to an endpoint.

use std::time::Duration;

use portcullis_model::Secret;

use crate::Authentication;
use crate::diagnostic::DiagnosticKind;
use crate::fields::Fields;
use crate::sink::Mistake;

/// How a client shows its secret to a token endpoint (RFC 7591 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientAuthentication {
    /// It has none.
    None,
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

impl ClientAuthentication {
    /// Returns the name that OAuth has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }
}

/// How the operator consents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoginFlow {
    /// In a browser that comes back to this machine, or whose last address is pasted (RFC 6749 §4.1).
    #[default]
    Browser,
    /// In a browser anywhere, by a code that is typed there (RFC 8628).
    Device,
}

/// The block `oauth` of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthSettings {
    /// The id of a client that the authorization server knows already.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// The scopes to ask for; nothing where the server says which.
    pub scope: Option<String>,
    /// The loopback name that the browser comes back to.
    pub redirect_host: String,
    /// The port that it comes back to; 0 for any.
    pub redirect_port: u16,
    /// The whole address that it comes back to, where a client was registered with one.
    pub redirect_uri: Option<String>,
    /// The name under which a client is registered.
    pub client_name: String,
    /// The address of a document that describes the client, which then is its id.
    pub client_metadata_url: Option<String>,
    /// False where such a document is not used even though the server would take it.
    pub uses_metadata_url: bool,
    /// How the secret is shown; nothing where the server says how.
    pub client_authentication: Option<ClientAuthentication>,
    /// What a client is registered as: `native` or `web`.
    pub application_type: String,
    /// The `User-Agent` towards the authorization server, where it wants a certain one.
    pub user_agent: Option<String>,
    /// How the operator consents.
    pub flow: LoginFlow,
    /// How long the operator has for that.
    pub timeout: Duration,
}

impl Default for OAuthSettings {
    fn default() -> Self {
        Self {
            client_id: None,
            client_secret: None,
            scope: None,
            redirect_host: "127.0.0.1".to_owned(),
            redirect_port: 0,
            redirect_uri: None,
            client_name: "Portcullis".to_owned(),
            client_metadata_url: None,
            uses_metadata_url: true,
            client_authentication: None,
            application_type: "native".to_owned(),
            user_agent: None,
            flow: LoginFlow::Browser,
            timeout: Duration::from_mins(5),
        }
    }
}

/// Reads `auth` and `oauth`.
pub(crate) fn authentication(fields: &mut Fields<'_, '_>, is_http: bool) -> Authentication {
    let is_oauth = fields.choice("auth", &[("oauth", true), ("headers", false), ("header", false), ("none", false)]);
    let settings = settings(fields);
    if is_oauth != Some(true) {
        if settings.is_some() {
            let place = fields.key_place("oauth");
            let mistake = Mistake::warning(DiagnosticKind::Conflict, "`oauth` has no effect without `auth: oauth`");
            fields.report("oauth", place, mistake);
        }
        return Authentication::Headers;
    }
    if !is_http {
        let place = fields.key_place("auth");
        let mistake =
            Mistake::warning(DiagnosticKind::Conflict, "OAuth is for servers with a `url`: it has no effect here")
                .hint("a program gets its credentials under `env`");
        fields.report("auth", place, mistake);
        return Authentication::Headers;
    }
    Authentication::OAuth(Box::new(settings.unwrap_or_default()))
}

fn settings(fields: &mut Fields<'_, '_>) -> Option<OAuthSettings> {
    let node = fields.get("oauth")?;
    let defaults = OAuthSettings::default();
    let mut inner = Fields::new(node, fields.path.key("oauth"), fields.sink);
    let text = |inner: &mut Fields<'_, '_>, key| {
        inner.text(key).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let settings = OAuthSettings {
        client_id: text(&mut inner, "client_id"),
        client_secret: text(&mut inner, "client_secret").map(Secret::new),
        scope: text(&mut inner, "scope"),
        redirect_host: redirect_host(&mut inner).unwrap_or(defaults.redirect_host),
        redirect_port: port(&mut inner).unwrap_or_default(),
        redirect_uri: address(&mut inner, "redirect_uri", false),
        client_name: text(&mut inner, "client_name").unwrap_or(defaults.client_name),
        client_metadata_url: address(&mut inner, "client_metadata_url", true),
        uses_metadata_url: inner.boolish("cimd").unwrap_or(true),
        client_authentication: inner.choice(
            "token_endpoint_auth_method",
            &[
                ("none", ClientAuthentication::None),
                ("client_secret_basic", ClientAuthentication::Basic),
                ("client_secret_post", ClientAuthentication::Post),
            ],
        ),
        application_type: inner
            .choice("application_type", &[("native", "native"), ("web", "web")])
            .map_or(defaults.application_type, str::to_owned),
        user_agent: text(&mut inner, "user_agent")
            .filter(|text| text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())),
        flow: inner
            .choice("flow", &[("browser", LoginFlow::Browser), ("device", LoginFlow::Device)])
            .unwrap_or_default(),
        timeout: inner.seconds("timeout").unwrap_or(defaults.timeout),
    };
    if settings.client_secret.is_some() && settings.client_id.is_none() {
        let place = inner.key_place("client_secret");
        let mistake = Mistake::error(DiagnosticKind::Conflict, "`client_secret` needs `client_id`");
        inner.report("client_secret", place, mistake);
    }
    inner.finish();
    Some(settings)
}

/// Reads the loopback name that a browser comes back to: anything else would have others hear the code.
fn redirect_host(inner: &mut Fields<'_, '_>) -> Option<String> {
    inner
        .choice(
            "redirect_host",
            &[("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]"), ("[::1]", "[::1]")],
        )
        .map(str::to_owned)
}

fn port(inner: &mut Fields<'_, '_>) -> Option<u16> {
    let count = inner.count("redirect_port", 0)?;
    let port = u16::try_from(count).ok();
    if port.is_none() {
        let place = inner.place_of("redirect_port");
        let mistake = Mistake::error(DiagnosticKind::BadValue, format!("expected a port up to 65535, found `{count}`"));
        inner.report("redirect_port", place, mistake);
    }
    port
}

fn address(inner: &mut Fields<'_, '_>, key: &'static str, must_be_https: bool) -> Option<String> {
    let text = inner.text(key)?;
    let text = text.trim();
    let is_fit =
        url::Url::parse(text).is_ok_and(|url| url.scheme() == "https" || (!must_be_https && url.scheme() == "http"));
    if is_fit {
        return Some(text.to_owned());
    }
    let place = inner.place_of(key);
    let expected = if must_be_https { "an https URL" } else { "an http or https URL" };
    inner.report(key, place, Mistake::error(DiagnosticKind::BadValue, format!("expected {expected}")));
    None
}

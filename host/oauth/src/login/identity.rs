//! Who the gateway is to an authorization server: a client that it knows, one that a document describes, or a new one.

use portcullis_config::ClientAuthentication;
use portcullis_model::json::Value;
use portcullis_model::{Secret, object};

use super::{Login, LoginError, text};
use crate::grant::Client;
use crate::token::{TokenError, refusal};

/// Longest id and secret that are taken.
const LONGEST: usize = 4 * 1024;

impl Login {
    /// Returns the client to be, whose browser comes back to that address, if to any.
    pub(super) async fn client(&self, redirect: Option<&str>) -> Result<Client, LoginError> {
        let (settings, server) = (&self.settings, &self.found.server);
        if let Some(id) = &settings.client_id {
            let secret = settings.client_secret.clone();
            let chosen = settings.client_authentication;
            let authentication = match &secret {
                Some(_) => chosen.unwrap_or_else(|| with_secret(server.authentications.as_deref())),
                None => ClientAuthentication::None,
            };
            return Ok(Client { id: id.clone(), secret, authentication, registered_for: None });
        }
        if let Some(url) = settings.client_metadata_url.as_ref().filter(|_| settings.uses_metadata_url)
            && server.takes_documents
        {
            let authentication = ClientAuthentication::None;
            return Ok(Client { id: url.clone(), secret: None, authentication, registered_for: None });
        }
        self.register(redirect).await
    }

    /// Registers a client (RFC 7591).
    async fn register(&self, redirect: Option<&str>) -> Result<Client, LoginError> {
        let (settings, server) = (&self.settings, &self.found.server);
        let endpoint = server.registration.as_ref().ok_or_else(|| LoginError::NoClient(server.issuer.clone()))?;
        let wanted = settings.client_authentication.unwrap_or_else(|| at_best(server.authentications.as_deref()));
        let (first, responses) = match redirect {
            Some(_) => ("authorization_code", vec![Value::from("code")]),
            None => (super::device::GRANT, Vec::new()),
        };
        let mut document = object! {
            "client_name" => settings.client_name.as_str(),
            "redirect_uris" => redirect.into_iter().map(Value::from).collect::<Vec<_>>(),
            "grant_types" => vec![Value::from(first), Value::from("refresh_token")],
            "response_types" => responses,
            "token_endpoint_auth_method" => wanted.as_str(),
            "application_type" => settings.application_type.as_str(),
        };
        if !self.scopes.is_empty() {
            document.insert("scope", self.scopes.join(" "));
        }
        let failed = |source| LoginError::Registration { name: settings.client_name.clone(), source };
        let answer = self.web.post_json(endpoint, &document.into()).await.map_err(|error| failed(error.into()))?;
        let document = answer.document();
        if !answer.is_success() {
            return Err(failed(refusal(answer.status, document.as_ref())));
        }
        let document = document.ok_or_else(|| failed(TokenError::Unusable))?;
        let is_fit =
            |text: &&str| (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7F).contains(&byte));
        let id = text(&document, "client_id").filter(is_fit).ok_or_else(|| failed(TokenError::Unusable))?;
        let secret = text(&document, "client_secret").filter(is_fit).map(Secret::new);
        let authentication = match (&secret, text(&document, "token_endpoint_auth_method")) {
            (Some(_), Some("client_secret_basic")) => ClientAuthentication::Basic,
            (Some(_), Some("client_secret_post")) => ClientAuthentication::Post,
            // One that has a secret and is to say nothing of it is a public client after all.
            (None, _) | (Some(_), Some("none")) => ClientAuthentication::None,
            (Some(_), _) if wanted != ClientAuthentication::None => wanted,
            (Some(_), _) => with_secret(server.authentications.as_deref()),
        };
        let secret = secret.filter(|_| authentication != ClientAuthentication::None);
        Ok(Client { id: id.to_owned(), secret, authentication, registered_for: redirect.map(str::to_owned) })
    }
}

/// Returns how a client with a secret shows it: in the header, which every server has to take (RFC 6749 §2.3.1), unless one
/// says otherwise.
fn with_secret(offered: Option<&[ClientAuthentication]>) -> ClientAuthentication {
    match offered {
        Some(offered)
            if !offered.contains(&ClientAuthentication::Basic) && offered.contains(&ClientAuthentication::Post) =>
        {
            ClientAuthentication::Post
        }
        Some(_) | None => ClientAuthentication::Basic,
    }
}

/// Returns what a new client is best: one without a secret, as it would only lie in a file beside the tokens.
fn at_best(offered: Option<&[ClientAuthentication]>) -> ClientAuthentication {
    match offered {
        Some(offered) if !offered.is_empty() && !offered.contains(&ClientAuthentication::None) => {
            with_secret(Some(offered))
        }
        Some(_) | None => ClientAuthentication::None,
    }
}

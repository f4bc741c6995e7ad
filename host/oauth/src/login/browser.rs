//! A login in a browser that comes back with a code (RFC 6749 §4.1, RFC 7636, RFC 9207).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_model::{Digest, Secret};
use url::Url;

use super::{Consent, Login, LoginError};
use crate::grant::Client;
use crate::token;
use crate::web::WebError;

/// A login that waits for the browser.
#[derive(Debug)]
pub struct Browser {
    login: Login,
    client: Client,
    redirect: String,
    state: String,
    verifier: Secret,
    page: Url,
}

impl Login {
    /// Prepares the page that the operator has to open. The browser comes back to `redirect`.
    pub async fn browser(self, redirect: &str) -> Result<Browser, LoginError> {
        let page = self.found.server.authorization.clone().ok_or(LoginError::NoFlow("page to consent at"))?;
        // The browser goes where it is sent: not into networks that the server has no business with.
        self.web.check(&page).await.map_err(|error| LoginError::Page(WebError::Reach(error)))?;
        let client = self.client(Some(redirect)).await?;
        let (state, verifier) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()));
        let mut page = page;
        {
            let mut query = page.query_pairs_mut();
            query.append_pair("response_type", "code");
            query.append_pair("client_id", &client.id);
            query.append_pair("redirect_uri", redirect);
            query.append_pair("state", &state);
            query.append_pair("code_challenge", &challenge);
            query.append_pair("code_challenge_method", "S256");
            query.append_pair("resource", &self.found.resource);
            if !self.scopes.is_empty() {
                query.append_pair("scope", &self.scopes.join(" "));
            }
            if self.scopes.iter().any(|scope| scope == "offline_access") {
                // `OpenID` Connect Core §11: it is not given without.
                query.append_pair("prompt", "consent");
            }
        }
        let verifier = Secret::new(verifier);
        Ok(Browser { login: self, client, redirect: redirect.to_owned(), state, verifier, page })
    }
}

impl Browser {
    /// Returns the page to open.
    pub fn page(&self) -> &str {
        self.page.as_str()
    }

    /// Takes what the browser came back with: an address, or what stands behind its question mark.
    pub async fn finish(&self, came_back: &str) -> Result<Consent, LoginError> {
        let code = self.code(came_back)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", self.redirect.as_str()),
            ("code_verifier", self.verifier.expose()),
            ("resource", self.login.found.resource.as_str()),
        ];
        let tokens = token::ask(&self.login.web, &self.login.found.server.token, &self.client, &form).await?;
        Ok(self.login.consent(self.client.clone(), tokens))
    }

    fn code(&self, came_back: &str) -> Result<Secret, LoginError> {
        let came_back = came_back.trim();
        let query = came_back.split_once('?').map_or(came_back, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let member = |name: &str| {
            let mut found = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
            // What is there twice is there for two readers (RFC 6749 §3.1).
            found.next().filter(|value| !value.is_empty() && found.next().is_none())
        };
        let state = member("state").unwrap_or_default();
        // By their digests, so that no clock tells how much of it was right.
        if Digest::of(state.as_bytes()) != Digest::of(self.state.as_bytes()) {
            let is_any = member("code").is_some() || member("error").is_some();
            return Err(if is_any { LoginError::State } else { LoginError::NoCode });
        }
        let server = &self.login.found.server;
        match member("iss") {
            Some(issuer) if issuer != server.issuer => return Err(LoginError::Issuer(server.issuer.clone())),
            None if server.names_itself => return Err(LoginError::Issuer(server.issuer.clone())),
            Some(_) | None => {}
        }
        if let Some(code) = member("error") {
            let short = |text: &str, most: usize| text.chars().take(most).collect::<String>();
            let description = member("error_description").map(|text| short(text, 300));
            return Err(LoginError::Denied { code: short(code, 64), description });
        }
        member("code").map(Secret::new).ok_or(LoginError::NoCode)
    }
}

/// Makes a text of 256 random bits, which can stand in an address.
fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| LoginError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

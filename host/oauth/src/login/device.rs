//! A login in a browser anywhere, by a code that is typed there (RFC 8628).

use std::time::Duration;

use portcullis_model::Secret;
use portcullis_model::json::Value;
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::{Consent, Login, LoginError, text};
use crate::grant::Client;
use crate::token::{self, TokenError, refusal};
use crate::web::WebError;

/// The name of the grant.
pub(super) const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Asked this often where the server does not say, and so much more rarely each time that it is too often (§3.5).
const INTERVAL: Duration = Duration::from_secs(5);
/// No server is asked more rarely, or the operator would wait for us.
const LONGEST_INTERVAL: Duration = Duration::from_mins(1);
/// Longest code that a person types.
const LONGEST_CODE: usize = 64;

/// A login that waits for the code to be typed.
#[derive(Debug)]
pub struct Device {
    login: Login,
    client: Client,
    secret: Secret,
    user_code: String,
    page: Url,
    page_with_code: Option<Url>,
    interval: Duration,
    until: Instant,
}

impl Login {
    /// Asks for a code that the operator types.
    pub async fn device(self) -> Result<Device, LoginError> {
        let endpoint = self.found.server.device.clone().ok_or(LoginError::NoFlow("device flow"))?;
        let client = self.client(None).await?;
        let scope = self.scopes.join(" ");
        let mut form = vec![("resource", self.found.resource.as_str())];
        if !scope.is_empty() {
            form.push(("scope", scope.as_str()));
        }
        let answer = token::post(&self.web, &endpoint, &client, &form).await.map_err(TokenError::from)?;
        let document = answer.document();
        if !answer.is_success() {
            return Err(refusal(answer.status, document.as_ref()).into());
        }
        let document = document.ok_or(TokenError::Unusable)?;
        let unusable = || LoginError::from(TokenError::Unusable);
        let user_code = text(&document, "user_code").map(str::to_owned);
        let user_code = user_code.filter(|code| (1..=LONGEST_CODE).contains(&code.len())).ok_or_else(unusable)?;
        let secret = text(&document, "device_code").map(Secret::new).ok_or_else(unusable)?;
        let page = text(&document, "verification_uri").or_else(|| text(&document, "verification_url"));
        let page = page.and_then(|page| Url::parse(page).ok()).ok_or_else(unusable)?;
        let page_with_code = text(&document, "verification_uri_complete").and_then(|page| Url::parse(page).ok());
        for page in [Some(&page), page_with_code.as_ref()].into_iter().flatten() {
            self.web.check(page).await.map_err(|error| LoginError::Page(WebError::Reach(error)))?;
        }
        let seconds = |key: &str| document.get(key).and_then(Value::as_u64).map(Duration::from_secs);
        let patience = seconds("expires_in").unwrap_or(self.settings.timeout).min(self.settings.timeout);
        let interval = seconds("interval").unwrap_or(INTERVAL).clamp(Duration::from_secs(1), LONGEST_INTERVAL);
        let until = Instant::now() + patience;
        Ok(Device { login: self, client, secret, user_code, page, page_with_code, interval, until })
    }
}

impl Device {
    /// Returns the code to type: foreign text.
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Returns the page to open.
    pub fn page(&self) -> &str {
        self.page.as_str()
    }

    /// Returns the page with the code in it already, where there is one.
    pub fn page_with_code(&self) -> Option<&str> {
        self.page_with_code.as_ref().map(Url::as_str)
    }

    /// Waits until the operator consented.
    pub async fn finish(&self) -> Result<Consent, LoginError> {
        let mut interval = self.interval;
        let form = [
            ("grant_type", GRANT),
            ("device_code", self.secret.expose()),
            ("resource", self.login.found.resource.as_str()),
        ];
        loop {
            let next = Instant::now() + interval;
            if next >= self.until {
                sleep_until(self.until).await;
                return Err(LoginError::TooLate);
            }
            sleep_until(next).await;
            match token::ask(&self.login.web, &self.login.found.server.token, &self.client, &form).await {
                Ok(tokens) => return Ok(self.login.consent(self.client.clone(), tokens)),
                Err(TokenError::Refused { code, .. }) if code == "authorization_pending" => {}
                Err(TokenError::Refused { code, .. }) if code == "slow_down" => {
                    interval = (interval + INTERVAL).min(LONGEST_INTERVAL);
                }
                Err(TokenError::Refused { code, .. }) if code == "expired_token" => return Err(LoginError::TooLate),
                Err(TokenError::Web(WebError::Unreachable { .. })) => {
                    interval = (interval * 2).min(LONGEST_INTERVAL);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

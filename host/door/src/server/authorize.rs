//! `/authorize`: a browser asks on behalf of a client, and the operator answers (RFC 6749 §4.1).

use std::net::IpAddr;

use http::header::{CONTENT_SECURITY_POLICY, REFRESH, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use portcullis_model::Digest;
use url::Url;

use super::AuthorizationServer;
use crate::ask::{self, Ask, LONGEST_CLIENT_ID, PARAMETERS, Wrong};
use crate::browser::{Browser, Code};
use crate::client::{Client, Known};
use crate::clock::millis;
use crate::counts::Counts;
use crate::desk::{ConsentView, Standing};
use crate::document;
use crate::form::Form;
use crate::grants::Consent;
use crate::page::{self, PassphraseForm};
use crate::rate::{Counted, Limiter};
use crate::redirect::{Place, RedirectUri};
use crate::reply::{self, Reply};
use crate::settings::Approval;

/// Seconds after which a page that waits for the operator loads itself again.
const RELOAD: u64 = 3;

/// What the surroundings of a request are.
pub(crate) struct Surroundings<'a> {
    pub(crate) limiter: &'a Limiter,
    pub(crate) counts: &'a Counts,
    pub(crate) source: IpAddr,
}

/// A request that can be answered at its redirect address.
struct Request {
    client: Client,
    ask: Ask,
    digest: Digest,
    code: Code,
    browser: Browser,
}

/// What a client is found to be.
enum Found {
    Client(Client),
    /// One whose document is not read yet.
    Undescribed(Url),
    Nobody,
}

impl AuthorizationServer {
    /// Answers a browser.
    pub(crate) async fn authorize(&self, head: &Parts, body: &[u8], around: &Surroundings<'_>) -> Reply {
        let is_form = head.method == Method::POST;
        let form = Form::parse(if is_form { body } else { head.uri.query().unwrap_or_default().as_bytes() });
        let now = self.now();
        let known = Browser::read(&head.headers, &self.seal, self.url.is_secure(), now);
        let Ok(browser) = known.map_or_else(|| Browser::new(now), Ok) else {
            return problem(StatusCode::SERVICE_UNAVAILABLE, "the system gives no random numbers");
        };
        let digest = ask::digest(&form);
        let code = browser.code(&self.seal, &digest);
        let counted = match known {
            // Whom the operator waits for is not held up, whatever others do.
            Some(_) if self.desk.expects(code, now) => Ok(()),
            Some(browser) => around.limiter.count_browser(browser.number(), &self.clock),
            None => around.limiter.count(Counted::Authorize, around.source, &self.clock),
        };
        if let Err(too_often) = counted {
            around.counts.limited();
            return reply::too_often(millis(too_often.retry).div_ceil(1_000));
        }
        around.counts.paged();
        let request = match self.read(&form, digest, code, browser, around).await {
            Ok(request) => request,
            Err(reply) => return self.with_cookie(*reply, browser, known),
        };
        let reply = if is_form {
            // A form is one that we gave to this very browser, for this very request.
            let is_ours = known.is_some()
                && form.get("form_token").is_some_and(|token| browser.is_form(&self.seal, &digest, token));
            if !is_ours {
                return problem(
                    StatusCode::FORBIDDEN,
                    "This form is too old, or not from here. Begin again at the client.",
                );
            }
            self.decide(&form, &request, around).await
        } else {
            self.show(&form, &request, around)
        };
        self.with_cookie(reply, browser, known)
    }

    /// Reads a request: whose it is and where its answer goes first, as nothing is sent anywhere before that is good.
    async fn read(
        &self,
        form: &Form,
        digest: Digest,
        code: Code,
        browser: Browser,
        around: &Surroundings<'_>,
    ) -> Result<Request, Box<Reply>> {
        let page = |text| Box::new(problem(StatusCode::BAD_REQUEST, text));
        if form.repeats(&["client_id", "redirect_uri"]) {
            return Err(page("The client or its address is named twice."));
        }
        let Some(id) = form.get("client_id").filter(|id| id.len() <= LONGEST_CLIENT_ID) else {
            return Err(page("The request names no client."));
        };
        let client = match self.find(id, code, around).await {
            Found::Client(client) => client,
            Found::Undescribed(url) => {
                let html = page::undescribed(url.host_str().unwrap_or_default(), code);
                return Err(Box::new(reloading(reply::page(StatusCode::OK, html))));
            }
            Found::Nobody => return Err(page("The client is not known here.")),
        };
        let redirect = form.get("redirect_uri").and_then(|text| RedirectUri::parse(text).ok());
        let Some(redirect) = redirect.filter(|redirect| client.admits(redirect)) else {
            return Err(page("The address to go back to is none of this client."));
        };
        match ask::read(form, redirect.clone(), &self.url) {
            Ok(ask) => Ok(Request { client, ask, digest, code, browser }),
            Err(wrong) => Err(Box::new(self.refuse(&redirect, ask::state(form), wrong))),
        }
    }

    async fn find(&self, id: &str, code: Code, around: &Surroundings<'_>) -> Found {
        if let Some(client) = self.client(id) {
            return Found::Client(client);
        }
        let settings = &self.settings.client_documents;
        let Some(url) = document::read_id(id).filter(|_| settings.allowed) else { return Found::Nobody };
        if let Some(client) = self.documents.known(&url, self.now()) {
            return Found::Client(client);
        }
        let host = url.host_str().unwrap_or_default();
        let is_trusted = settings.trusted_hosts.iter().any(|trusted| trusted.eq_ignore_ascii_case(host));
        // Strangers do not have us fetch things: either the host is one of the operator's, or the operator is there.
        if !is_trusted && !self.desk.expects(code, self.now()) {
            return Found::Undescribed(url);
        }
        if around.limiter.count(Counted::Fetch, around.source, &self.clock).is_err() {
            return Found::Undescribed(url);
        }
        match self.documents.fetch(&url, &settings.fetcher, &self.clock).await {
            Some(client) => Found::Client(client),
            None => Found::Nobody,
        }
    }

    /// Shows what is asked for, or goes on where the operator answered.
    fn show(&self, form: &Form, request: &Request, around: &Surroundings<'_>) -> Reply {
        let view = || self.view(request, around.source);
        let asked = (request.digest, request.browser.number());
        match self.desk.present(request.code, asked, self.now(), view) {
            Standing::Approved => self.consent(request, around, "terminal"),
            Standing::Denied => self.deny(request),
            Standing::Asked | Standing::Unknown => self.page(form, request, around, None),
        }
    }

    /// Takes a decision that was made on the page.
    async fn decide(&self, form: &Form, request: &Request, around: &Surroundings<'_>) -> Reply {
        if form.get("decision") == Some("deny") {
            return self.deny(request);
        }
        let Approval::Passphrase(prove) = &self.settings.approval else {
            return problem(StatusCode::FORBIDDEN, "Consent is given on the machine of the gateway.");
        };
        if let Err(too_often) = around.limiter.count(Counted::Passphrase, around.source, &self.clock) {
            around.counts.limited();
            let seconds = millis(too_often.retry).div_ceil(1_000);
            let text = format!("Too many wrong passphrases. Wait {seconds} seconds, or use the command above.");
            return self.page(form, request, around, Some(&text));
        }
        let Some(given) = form.get("passphrase").map(str::to_owned) else {
            return self.page(form, request, around, Some("The passphrase is missing."));
        };
        let Ok(_one_at_a_time) = self.checking.acquire().await else {
            return problem(StatusCode::SERVICE_UNAVAILABLE, "The gateway is ending.");
        };
        let prove = prove.clone();
        let is_right = tokio::task::spawn_blocking(move || (prove.0)(&given)).await.unwrap_or(false);
        if is_right {
            return self.consent(request, around, "page");
        }
        tracing::warn!(source = %around.source, "a wrong passphrase was given for a consent");
        self.page(form, request, around, Some("The passphrase is wrong."))
    }

    fn page(&self, form: &Form, request: &Request, around: &Surroundings<'_>, problem: Option<&str>) -> Reply {
        let view = self.view(request, around.source);
        if matches!(self.settings.approval, Approval::OutOfBand) {
            return reloading(reply::page(StatusCode::OK, page::consent(&view, request.code, None)));
        }
        let parameters: Vec<(&str, &str)> =
            PARAMETERS.iter().filter_map(|name| Some((*name, form.get(name)?))).collect();
        let token = request.browser.form_token(&self.seal, &request.digest);
        let passphrase = PassphraseForm { parameters: &parameters, token: &token, problem };
        let html = page::consent(&view, request.code, Some(&passphrase));
        let status = if problem.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
        let mut reply = reply::page(status, html);
        // Browsers hold the redirect that answers a form to the same list as the form.
        let policy = reply::page_policy(Some(&request.ask.redirect.as_form_target()));
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            reply.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        reply
    }

    fn view(&self, request: &Request, source: IpAddr) -> ConsentView {
        let Request { client, ask, .. } = request;
        let known = match &client.known {
            Known::Registered => "registered here by the operator".to_owned(),
            Known::Document(host) => format!("what a document on {host} says; the host is certain, the name is not"),
            Known::Itself => "what it says of itself; nobody checked it".to_owned(),
        };
        let mut warnings = Vec::new();
        if client.known == Known::Itself {
            warnings.push(
                "Anybody can register under this name. Go on only if you began this yourself, just now.".to_owned(),
            );
        }
        match ask.redirect.place() {
            Place::Web(_) => {}
            Place::Loopback => warnings.push(
                "The answer goes to a program on the machine of the browser. Which one listens there cannot be told."
                    .to_owned(),
            ),
            Place::App(scheme) => warnings.push(format!(
                "The answer goes to whichever app claims {scheme}: links on the machine of the browser."
            )),
        }
        if client.is_local() && client.known != Known::Registered {
            warnings.push("Any program of that machine could ask under this client's name.".to_owned());
        }
        if let (Known::Document(host), Place::Web(target)) = (&client.known, ask.redirect.place())
            && host != target
        {
            warnings.push(format!("The answer goes to {target}, which is not the client's host {host}."));
        }
        let resource = match &ask.route {
            None => format!("all servers of this gateway ({})", self.url.resource(None)),
            Some(server) => format!("the server `{server}` ({})", self.url.resource(Some(server))),
        };
        ConsentView {
            client: client.name.clone(),
            known,
            client_id: crate::shown::plain(&client.id, 256),
            redirect: crate::shown::plain(ask.redirect.as_str(), 512),
            resource,
            days: self.settings.longest.as_secs() / 86_400,
            source: source.to_string(),
            warnings,
        }
    }

    /// Gives a code out, because the operator said yes.
    fn consent(&self, request: &Request, around: &Surroundings<'_>, surface: &'static str) -> Reply {
        let consent = Consent {
            client: request.client.id.clone(),
            name: request.client.name.clone(),
            redirect: request.ask.redirect.as_str().to_owned(),
            challenge: request.ask.challenge.clone(),
            route: request.ask.route.clone(),
        };
        let Ok(code) = self.grants.give_code(consent, self.now()) else {
            let wrong = Wrong { code: "server_error", text: "the system gives no random numbers" };
            return self.refuse(&request.ask.redirect, request.ask.state.as_deref(), wrong);
        };
        around.counts.consented();
        tracing::info!(
            client = %crate::shown::plain(&request.client.id, 64),
            source = %around.source,
            surface,
            "the operator let a client in"
        );
        self.back(&request.ask.redirect, &[("code", code.expose())], request.ask.state.as_deref())
    }

    fn deny(&self, request: &Request) -> Reply {
        tracing::info!(client = %crate::shown::plain(&request.client.id, 64), "the operator refused a client");
        let wrong = Wrong { code: "access_denied", text: "the operator refused" };
        self.refuse(&request.ask.redirect, request.ask.state.as_deref(), wrong)
    }

    fn refuse(&self, redirect: &RedirectUri, state: Option<&str>, wrong: Wrong) -> Reply {
        self.back(redirect, &[("error", wrong.code), ("error_description", wrong.text)], state)
    }

    /// Leads the browser back to its client, which is told who answers (RFC 9207).
    fn back(&self, redirect: &RedirectUri, parameters: &[(&str, &str)], state: Option<&str>) -> Reply {
        let mut all = parameters.to_vec();
        all.extend(state.map(|state| ("state", state)));
        all.push(("iss", self.url.as_str()));
        reply::see_other(&redirect.with(&all)).unwrap_or_else(|| {
            problem(StatusCode::BAD_REQUEST, "The address to go back to cannot be written into a header.")
        })
    }

    /// Gives a browser its cookie, where it has none.
    fn with_cookie(&self, mut reply: Reply, browser: Browser, known: Option<Browser>) -> Reply {
        if known.is_none()
            && let Ok(cookie) = HeaderValue::from_str(&browser.cookie(&self.seal, self.url.is_secure()))
        {
            reply.headers_mut().insert(SET_COOKIE, cookie);
        }
        reply
    }
}

fn problem(status: StatusCode, text: &str) -> Reply {
    reply::page(status, page::problem(text))
}

/// Has a page load itself again, until the operator answered.
fn reloading(mut reply: Reply) -> Reply {
    reply.headers_mut().insert(REFRESH, HeaderValue::from(RELOAD));
    reply
}

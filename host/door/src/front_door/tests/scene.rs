//! A front door with an authorization server, a browser and a client.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Request;
use portcullis_model::json::{Value, parse};
use portcullis_model::{Digest, Secret};
use url::Url;

use super::super::*;
use crate::{
    Approval, AuthorizationSettings, ClientFile, Clock, DoorSettings, ProvePassphrase, PublicUrl, Reply, TrustedProxies,
};

pub(super) const ISSUER: &str = "https://gateway.example";
pub(super) const CALLBACK: &str = "https://app.example/callback";
pub(super) const VERIFIER: &str = "a-verifier-of-forty-three-characters-and-a-few-more";

/// Put together here, so that it is no secret of anybody.
pub(super) fn passphrase() -> String {
    ["correct", "horse", "battery"].join(" ")
}

pub(super) fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(Digest::of(VERIFIER.as_bytes()).as_bytes())
}

pub(super) struct Scene {
    pub(super) folder: tempfile::TempDir,
    pub(super) clock: Clock,
    pub(super) door: Arc<FrontDoor>,
    /// The id of a registered client without a secret.
    pub(super) client: String,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn by_passphrase() -> Self {
        let prove = ProvePassphrase(Arc::new(|text| text == passphrase()));
        Self::with(move |settings| settings.approval = Approval::Passphrase(prove))
    }

    pub(super) fn with(change: impl FnOnce(&mut AuthorizationSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut authorization = AuthorizationSettings::new(Approval::OutOfBand);
        change(&mut authorization);
        let clients = ClientFile::in_folder(folder.path());
        let callbacks = [CALLBACK.to_owned(), "http://[::1]/callback".to_owned()];
        let client = clients.add("An app", &callbacks, false, 0).unwrap().0.id;
        let clock = Clock::still();
        let settings = DoorSettings {
            folder: folder.path().to_owned(),
            public_url: PublicUrl::parse(ISSUER).unwrap(),
            proxies: TrustedProxies::default(),
            installation: Some(Secret::new("i".repeat(43))),
            environment: None,
            key: [7; 32],
            authorization: Some(authorization),
            clock: clock.clone(),
        };
        Self { folder, clock, door: Arc::new(FrontDoor::open(settings).unwrap()), client }
    }

    /// The request of a client that does everything right.
    pub(super) fn query(&self) -> Vec<(String, String)> {
        query_of(&self.client)
    }

    pub(super) async fn send(&self, request: Request<Vec<u8>>, from: &str) -> Answer {
        let (head, body) = request.into_parts();
        assert!(self.door.serves(head.uri.path()), "{}", head.uri);
        let from: IpAddr = from.parse().unwrap();
        Answer(self.door.answer(&head, &body, from).await)
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Vec::new()).unwrap(), "192.0.2.1").await
    }

    /// Posts a form as a client does.
    pub(super) async fn post(&self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(form(pairs)).unwrap(), "192.0.2.1").await
    }

    pub(super) async fn redeem(&self, code: &str) -> Answer {
        self.post(
            "/token",
            &[
                ("grant_type", "authorization_code"),
                ("code", code),
                ("client_id", &self.client),
                ("redirect_uri", CALLBACK),
                ("code_verifier", VERIFIER),
            ],
        )
        .await
    }

    pub(super) async fn refresh(&self, token: &str) -> Answer {
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", &self.client)];
        self.post("/token", &pairs).await
    }

    /// Goes all the way to a code: a browser asks, the operator approves on the machine, the browser comes back.
    pub(super) async fn code(&self, query: &[(String, String)]) -> String {
        let mut browser = Browser::new(self);
        let back = browser.approved(query).await;
        back.parameter("code").unwrap_or_else(|| panic!("{back:?}"))
    }

    pub(super) async fn tokens(&self) -> Value {
        let code = self.code(&self.query()).await;
        let answer = self.redeem(&code).await;
        assert_eq!(answer.status(), 200, "{answer:?}");
        answer.json()
    }

    pub(super) fn opens(&self, route: &str, token: &str) -> Result<String, u16> {
        let request = Request::get(route).header("authorization", format!("Bearer {token}")).body(()).unwrap();
        let head = request.into_parts().0;
        let path = crate::route::of_path(head.uri.path()).unwrap();
        let admitted = self.door.admit(path.as_ref(), &head, "192.0.2.1".parse().unwrap());
        admitted.map(|principal| principal.to_string()).map_err(|refusal| refusal.status().as_u16())
    }
}

/// The request of a client that does everything right.
pub(super) fn query_of(client: &str) -> Vec<(String, String)> {
    let pairs = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("state", "a state"),
        ("scope", "mcp"),
        ("resource", "https://gateway.example/mcp"),
        ("code_challenge", &challenge()),
        ("code_challenge_method", "S256"),
    ];
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn form(pairs: &[(&str, &str)]) -> Vec<u8> {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().into_bytes()
}

/// Puts another value in the place of a parameter; nothing leaves it out.
pub(super) fn set(query: &[(String, String)], name: &str, value: Option<&str>) -> Vec<(String, String)> {
    let mut query: Vec<_> = query.iter().filter(|(other, _)| other != name).cloned().collect();
    query.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    query
}

/// A browser with the cookie that it was given.
pub(super) struct Browser<'a> {
    scene: &'a Scene,
    pub(super) cookie: Option<String>,
    pub(super) from: &'static str,
}

impl<'a> Browser<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        Self { scene, cookie: None, from: "192.0.2.1" }
    }

    async fn send(&mut self, mut request: http::request::Builder, body: Vec<u8>) -> Answer {
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let answer = self.scene.send(request.body(body).unwrap(), self.from).await;
        if let Some(cookie) = answer.0.headers().get("set-cookie") {
            self.cookie = cookie.to_str().unwrap().split(';').next().map(str::to_owned);
        }
        answer
    }

    pub(super) async fn ask(&mut self, query: &[(String, String)]) -> Answer {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        self.send(Request::get(format!("/authorize?{query}")), Vec::new()).await
    }

    /// Sends the form of a page with some fields filled in.
    pub(super) async fn submit(&mut self, page: &Answer, filled: &[(&str, &str)]) -> Answer {
        let fields = page.fields();
        let mut pairs: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        pairs.extend_from_slice(filled);
        let request = Request::post("/authorize").header("content-type", "application/x-www-form-urlencoded");
        self.send(request, form(&pairs)).await
    }

    /// Asks, has the operator approve the code of the page, and comes back.
    pub(super) async fn approved(&mut self, query: &[(String, String)]) -> Answer {
        let page = self.ask(query).await;
        assert_eq!(page.status(), 200, "{page:?}");
        let code = page.code();
        let door = Arc::clone(&self.scene.door);
        let operator = async move { door.expect(code).await.unwrap() };
        let shown = async {
            // Until the operator has named the code, and then once so that it is seen.
            loop {
                tokio::task::yield_now().await;
                self.ask(query).await;
                if self.scene.door.expects(code) {
                    break;
                }
            }
            self.ask(query).await;
        };
        tokio::join!(operator, shown);
        self.scene.door.consent(code, true).unwrap();
        self.ask(query).await
    }
}

pub(super) struct Answer(pub(super) Reply);

impl std::fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {:?} {}", self.0.status(), self.0.headers(), self.text())
    }
}

impl Answer {
    pub(super) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.0.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.body().clone()).unwrap()
    }

    pub(super) fn json(&self) -> Value {
        parse(self.0.body()).unwrap()
    }

    pub(super) fn member(&self, name: &str) -> String {
        self.json().get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Returns a parameter of the address that the browser is led to.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let url = Url::parse(self.header("location")).ok()?;
        url.query_pairs().find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
    }

    /// Returns the code that the page shows.
    pub(super) fn code(&self) -> Code {
        let text = self.text();
        let rest = text.split_once("portcullis approve ").unwrap_or_else(|| panic!("{text}")).1;
        Code::parse(rest.split('<').next().unwrap()).unwrap()
    }

    /// Returns the hidden fields of the page's form, read back from HTML.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        let text = self.text();
        let unescaped = |text: &str| {
            text.replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&")
        };
        let fields = text.split("<input type=\"hidden\" name=\"").skip(1).map(|rest| {
            let (name, rest) = rest.split_once("\" value=\"").unwrap();
            (unescaped(name), unescaped(rest.split_once('"').unwrap().0))
        });
        fields.collect()
    }
}

//! Where a browser is led after consent: to an address that was registered, and to no other (RFC 9700 §4.1).

use url::{Host, Url};

/// Longest address.
const LONGEST: usize = 2_048;

/// Parameters that only we add.
const RESERVED: [&str; 4] = ["code", "state", "error", "iss"];

/// Schemes that run or show something instead of handing it to an app.
const DANGEROUS: [&str; 16] = [
    "javascript",
    "data",
    "vbscript",
    "file",
    "blob",
    "about",
    "ftp",
    "ws",
    "wss",
    "view-source",
    "intent",
    "mailto",
    "tel",
    "sms",
    "ssh",
    "ms-msdt",
];

/// What kind of place an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A web site, under its host.
    Web(String),
    /// A program on the machine of the browser. Which one cannot be told.
    Loopback,
    /// An app that claims a scheme. Another app may claim it as well.
    App(String),
}

/// An address that a browser may be led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
    place: Place,
}

/// Why a text is no address that a browser may be led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedirectError {
    /// It is no absolute address of visible characters, or too long.
    #[error("it is no absolute address of visible characters")]
    Malformed,
    /// It names a user or a fragment.
    #[error("it must have no user and no fragment")]
    UserOrFragment,
    /// It has a parameter that only we add.
    #[error("it must not have the parameters `code`, `state`, `error` and `iss`")]
    Reserved,
    /// It is not encrypted.
    #[error("http:// is for 127.0.0.1, [::1] and localhost alone")]
    NotSecure,
    /// Its scheme does something else than leading to an app.
    #[error("its scheme is not one that leads to an app")]
    Dangerous,
}

impl RedirectUri {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, RedirectError> {
        // What readers of addresses see differently: a backslash, and what is no character of an address at all.
        let is_fit = |byte: u8| {
            byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}')
        };
        if text.len() > LONGEST || !text.bytes().all(is_fit) {
            return Err(RedirectError::Malformed);
        }
        let url = Url::parse(text).map_err(|_| RedirectError::Malformed)?;
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        let authority = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
        let has_user = authority.is_some_and(|authority| authority.contains('@'));
        if has_user || !url.username().is_empty() || url.password().is_some() || text.contains('#') {
            return Err(RedirectError::UserOrFragment);
        }
        if url.query_pairs().any(|(name, _)| RESERVED.contains(&name.as_ref())) {
            return Err(RedirectError::Reserved);
        }
        let place = match (url.scheme(), url.host()) {
            ("https", Some(host)) => Place::Web(host.to_string()),
            // As understood, not as written: a text that begins like one of this machine may go on.
            ("http", Some(Host::Domain("localhost"))) => Place::Loopback,
            ("http", Some(Host::Ipv4(address))) if address == std::net::Ipv4Addr::LOCALHOST => Place::Loopback,
            ("http", Some(Host::Ipv6(address))) if address == std::net::Ipv6Addr::LOCALHOST => Place::Loopback,
            ("http" | "https", _) => return Err(RedirectError::NotSecure),
            (scheme, _) if DANGEROUS.contains(&scheme) || authority.is_none() => return Err(RedirectError::Dangerous),
            (scheme, _) => Place::App(scheme.to_owned()),
        };
        Ok(Self { text: text.to_owned(), url, place })
    }

    /// Returns the address as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns what kind of place it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns true where a browser may be led to the other address because this one was registered: the very same one, or
    /// on the machine of the browser the same but for the port (RFC 8252 §7.3).
    pub(crate) fn admits(&self, other: &Self) -> bool {
        let is_same_but_port = || {
            self.place == Place::Loopback
                && other.place == Place::Loopback
                && self.url.host() == other.url.host()
                && self.url.path() == other.url.path()
                && self.url.query() == other.url.query()
        };
        self.text == other.text || is_same_but_port()
    }

    /// Returns the address with parameters added.
    pub(crate) fn with(&self, parameters: &[(&str, &str)]) -> String {
        let mut added = form_urlencoded::Serializer::new(String::new());
        added.extend_pairs(parameters);
        let separator = match self.text.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{}{separator}{}", self.text, added.finish())
    }

    /// Returns the source expression by which a page may send its form on to there (CSP level 3, §2.3.1).
    pub(crate) fn as_form_target(&self) -> String {
        match (&self.place, self.url.host()) {
            (Place::App(scheme), _) => format!("{scheme}:"),
            // The grammar has no addresses of version 6.
            (_, Some(Host::Ipv6(_))) => format!("{}:", self.url.scheme()),
            _ => self.url.origin().ascii_serialization(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> RedirectUri {
        RedirectUri::parse(text).unwrap()
    }

    #[test]
    fn a_browser_is_led_to_the_very_address_that_was_registered() {
        let registered = parse("https://app.example/callback?a=b");
        assert!(registered.admits(&parse("https://app.example/callback?a=b")));
        for other in [
            "https://app.example/callback",
            "https://app.example/callback/?a=b",
            "https://app.example/callback?a=b&c=d",
            "https://app.example/CALLBACK?a=b",
            "https://app.example:443/callback?a=b",
            "https://app.example:8443/callback?a=b",
            "https://evil.app.example/callback?a=b",
            "https://app.example/x/../callback?a=b",
        ] {
            assert!(!registered.admits(&parse(other)), "{other}");
        }
    }

    #[test]
    fn on_the_machine_of_the_browser_any_port_will_do_under_the_same_name() {
        for (registered, asked) in [
            ("http://127.0.0.1/callback", "http://127.0.0.1:49152/callback"),
            ("http://[::1]:1/callback", "http://[::1]:49152/callback"),
            ("http://localhost:3000/callback", "http://localhost:49152/callback"),
        ] {
            assert!(parse(registered).admits(&parse(asked)), "{asked}");
            for other in ["http://127.0.0.1:1/other", "http://[::1]:1/callback?a", "https://localhost/callback"] {
                assert!(!parse(registered).admits(&parse(other)), "{registered} {other}");
            }
        }
        assert!(
            !parse("http://127.0.0.1/callback").admits(&parse("http://localhost/callback")),
            "names are not numbers"
        );
    }

    #[test]
    fn what_leads_elsewhere_than_it_seems_is_refused() {
        for (text, error) in [
            ("javascript:alert(1)", RedirectError::Dangerous),
            ("javascript://app.example/%0aalert(1)", RedirectError::Dangerous),
            ("JAVASCRIPT://app.example/", RedirectError::Dangerous),
            ("data:text/html,x", RedirectError::Dangerous),
            ("vbscript:x", RedirectError::Dangerous),
            ("file:///etc/passwd", RedirectError::Dangerous),
            ("blob:https://app.example/x", RedirectError::Dangerous),
            ("ftp://app.example/", RedirectError::Dangerous),
            ("intent://app.example/", RedirectError::Dangerous),
            ("myapp:callback", RedirectError::Dangerous),
            ("http://app.example/", RedirectError::NotSecure),
            ("http://localhost.evil.example/", RedirectError::NotSecure),
            ("http://127.0.0.2/", RedirectError::NotSecure),
            ("http://0.0.0.0/", RedirectError::NotSecure),
            ("https://user@app.example/", RedirectError::UserOrFragment),
            ("https://@app.example/", RedirectError::UserOrFragment),
            ("http://localhost@evil.example/", RedirectError::UserOrFragment),
            ("https://app.example/#fragment", RedirectError::UserOrFragment),
            ("https://app.example/#", RedirectError::UserOrFragment),
            ("https://app.example/?code=1", RedirectError::Reserved),
            ("https://app.example/?a=b&%73tate=1", RedirectError::Reserved),
            ("https://app.example\\@evil.example/", RedirectError::Malformed),
            ("https://app.example/\r\nSet-Cookie: a", RedirectError::Malformed),
            (" https://app.example/", RedirectError::Malformed),
            ("/callback", RedirectError::Malformed),
            ("", RedirectError::Malformed),
        ] {
            assert_eq!(RedirectUri::parse(text).map(|uri| uri.text), Err(error), "{text}");
        }
        assert_eq!(
            RedirectUri::parse(&format!("https://app.example/{}", "a".repeat(2_048))).map(|_| ()),
            Err(RedirectError::Malformed)
        );
    }

    #[test]
    fn an_app_is_told_from_a_web_site() {
        assert_eq!(parse("cursor://anysphere.cursor-mcp/oauth/callback").place, Place::App("cursor".to_owned()));
        assert_eq!(parse("https://App.Example/x").place, Place::Web("app.example".to_owned()));
        assert_eq!(parse("http://[::1]:80/x").place, Place::Loopback);
    }

    #[test]
    fn parameters_are_added_to_what_stands_there() {
        let added = |text: &str| parse(text).with(&[("code", "a b"), ("iss", "https://g.example")]);
        let query = "code=a+b&iss=https%3A%2F%2Fg.example";
        assert_eq!(added("https://app.example/x"), format!("https://app.example/x?{query}"));
        assert_eq!(added("https://app.example/x?y=z"), format!("https://app.example/x?y=z&{query}"));
        assert_eq!(added("https://app.example/x?"), format!("https://app.example/x?{query}"));
    }
}

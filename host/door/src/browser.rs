//! A browser that asked for consent, known again by a cookie. Nothing is kept of it here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::COOKIE;
use portcullis_model::Digest;

use crate::clock::Moment;
use crate::mint::{NoRandomness, random};
use crate::seal::Seal;

/// A browser is known for so long: a consent takes a minute, and looking for the terminal a few.
const HOLDS: Moment = 15 * 60 * 1_000;

/// Letters and digits of codes that people copy: none that looks like another, and no vowels, so no words.
const LETTERS: &[u8; 28] = b"23456789BCDFGHJKLMNPQRSTVWXZ";

/// Characters of a code: 28^8 are 38 bits, and a code is worth nothing until the operator typed it.
const LENGTH: usize = 8;

/// A browser that asked for consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Browser {
    nonce: [u8; 16],
    since: Moment,
}

/// The name of the cookie. The prefix has browsers take it only from us, encrypted, and for the whole site; on this machine
/// without encryption some would not take it at all.
fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-portcullis" } else { "portcullis" }
}

impl Browser {
    /// Meets a browser.
    pub(crate) fn new(now: Moment) -> Result<Self, NoRandomness> {
        Ok(Self { nonce: random()?, since: now })
    }

    /// Knows a browser again; nothing where it has no cookie of ours, or several.
    pub(crate) fn read(headers: &HeaderMap, seal: &Seal, is_secure: bool, now: Moment) -> Option<Self> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut values = lines.flat_map(|line| line.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == cookie_name(is_secure)).then_some(value)
        });
        let (value, None) = (values.next()?, values.next()) else { return None };
        let mut parts = value.split('.');
        let (nonce, since, tag) = (parts.next()?, parts.next()?, parts.next()?);
        let nonce: [u8; 16] = URL_SAFE_NO_PAD.decode(nonce).ok()?.try_into().ok()?;
        let browser = Self { nonce, since: since.parse().ok()? };
        let holds = browser.since <= now && now - browser.since < HOLDS;
        let is_ours = seal.is_tag("browser", &[&browser.nonce, &browser.since.to_be_bytes()], tag);
        (parts.next().is_none() && holds && is_ours).then_some(browser)
    }

    /// Returns the cookie by which it is known again.
    pub(crate) fn cookie(&self, seal: &Seal, is_secure: bool) -> String {
        let tag = seal.text("browser", &[&self.nonce, &self.since.to_be_bytes()]);
        let secure = if is_secure { "; Secure" } else { "" };
        let (name, nonce) = (cookie_name(is_secure), URL_SAFE_NO_PAD.encode(self.nonce));
        format!(
            "{name}={nonce}.{}.{tag}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}{secure}",
            self.since,
            HOLDS / 1_000
        )
    }

    /// Returns what it is counted by.
    pub(crate) fn number(&self) -> u128 {
        u128::from_le_bytes(self.nonce)
    }

    /// Returns the code that stands for a request of this browser.
    pub(crate) fn code(&self, seal: &Seal, request: &Digest) -> Code {
        let mut tag = u128::from_be_bytes(first_half(seal.tag("code", &[&self.nonce, request.as_bytes()])));
        let mut code = [0; LENGTH];
        for letter in &mut code {
            let index = usize::try_from(tag % 28).unwrap_or_default();
            *letter = LETTERS.get(index).copied().unwrap_or_default();
            tag /= 28;
        }
        Code(code)
    }

    /// Returns what a form of this browser about a request must hold.
    pub(crate) fn form_token(&self, seal: &Seal, request: &Digest) -> String {
        seal.text("form", &[&self.nonce, request.as_bytes()])
    }

    /// Returns true where a form is one of this browser about a request.
    pub(crate) fn is_form(&self, seal: &Seal, request: &Digest, token: &str) -> bool {
        seal.is_tag("form", &[&self.nonce, request.as_bytes()], token)
    }
}

fn first_half(tag: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.iter_mut().zip(tag).for_each(|(to, from)| *to = from);
    half
}

/// A code that stands for a request of a browser, as people copy it: two groups of four.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code([u8; LENGTH]);

impl Code {
    /// Reads a code, in any case, with or without its dash.
    pub fn parse(text: &str) -> Option<Self> {
        let letters: Vec<u8> =
            text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')).map(|byte| byte.to_ascii_uppercase()).collect();
        let code: [u8; LENGTH] = letters.try_into().ok()?;
        code.iter().all(|letter| LETTERS.contains(letter)).then_some(Self(code))
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, letter) in self.0.iter().enumerate() {
            let dash = if index == LENGTH / 2 { "-" } else { "" };
            write!(formatter, "{dash}{}", char::from(*letter))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Code(…)")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NOW: Moment = 1_800_000_000_000;

    fn with(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        headers
    }

    #[test]
    fn a_browser_is_known_again_by_its_cookie_for_a_quarter_of_an_hour() {
        let seal = Seal::new(&[7; 32]);
        let browser = Browser::new(NOW).unwrap();
        for (is_secure, prefix) in [(true, "__Host-portcullis="), (false, "portcullis=")] {
            let cookie = browser.cookie(&seal, is_secure);
            assert!(cookie.starts_with(prefix) && cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
            assert_eq!(cookie.contains("; Secure"), is_secure);
            let pair = cookie.split(';').next().unwrap();
            let read = |lines: &[&str], now| Browser::read(&with(lines), &seal, is_secure, now);
            assert_eq!(read(&[&format!("a=b; {pair}; c=d")], NOW + 1), Some(browser));
            assert_eq!(read(&[pair], NOW + HOLDS), None);
            assert_eq!(read(&[pair, pair], NOW), None, "two are a trick");
            assert_eq!(read(&[], NOW), None);
            assert_eq!(Browser::read(&with(&[pair]), &Seal::new(&[8; 32]), is_secure, NOW), None);
            let later = pair.replace(&NOW.to_string(), &(NOW + HOLDS).to_string());
            assert_eq!(read(&[&later], NOW + HOLDS), None, "nobody makes it hold longer");
        }
    }

    #[test]
    fn a_code_is_of_one_browser_and_one_request_and_read_as_people_write_it() {
        let seal = Seal::new(&[7; 32]);
        let (one, other) = (Browser::new(NOW).unwrap(), Browser::new(NOW).unwrap());
        let (request, second) = (Digest::of(b"request"), Digest::of(b"second"));
        let code = one.code(&seal, &request);
        assert_eq!(one.code(&seal, &request), code);
        assert_ne!(one.code(&seal, &second), code);
        assert_ne!(other.code(&seal, &request), code);
        let text = code.to_string();
        assert_eq!((text.len(), text.find('-')), (9, Some(4)));
        for written in [text.clone(), text.to_lowercase(), text.replace('-', ""), text.replace('-', " ")] {
            assert_eq!(Code::parse(&written), Some(code));
        }
        for wrong in ["", "1111-1111", "2345-678", "2345-67899", "AEIO-UAEI", "2345-678é"] {
            assert_eq!(Code::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_form_is_of_one_browser_and_one_request() {
        let seal = Seal::new(&[7; 32]);
        let (one, other) = (Browser::new(NOW).unwrap(), Browser::new(NOW).unwrap());
        let (request, second) = (Digest::of(b"request"), Digest::of(b"second"));
        let token = one.form_token(&seal, &request);
        assert!(one.is_form(&seal, &request, &token));
        assert!(!one.is_form(&seal, &second, &token) && !other.is_form(&seal, &request, &token));
    }
}

//! Where the operator, on the machine of the gateway, and a browser that asks for consent meet.
//!
//! The operator names the code that the browser's page shows. Only then is anything kept: the gateway expects the browser,
//! whose page loads itself again every few seconds and so shows what it asks for. What the operator sees comes from there,
//! by a way that no proxy or tunnel is on, and what was approved is that very request of that very browser.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use portcullis_model::Digest;
use tokio::sync::watch;

use crate::browser::Code;
use crate::clock::{Clock, Moment};

/// So many codes are expected at once; only operators name them.
const MOST: usize = 32;

/// A code is expected for so long, and an answer waits as long for its browser to come and take it.
const HOLDS: Moment = 5 * 60 * 1_000;

/// What a client asks for, as the operator sees it. Texts of strangers are without hidden characters, and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentView {
    /// What the client calls itself.
    pub client: String,
    /// How that is known.
    pub known: String,
    /// The id of the client.
    pub client_id: String,
    /// Where the browser is led, with the code that is worth a token.
    pub redirect: String,
    /// What is to be opened.
    pub resource: String,
    /// For how many days at most.
    pub days: u64,
    /// From where the browser asks.
    pub source: String,
    /// What to be careful about.
    pub warnings: Vec<String>,
}

/// What became of a code that a browser shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// No operator named it.
    Unknown,
    /// The operator is looking.
    Asked,
    /// The operator said yes. This is told once.
    Approved,
    /// The operator said no. This is told once.
    Denied,
}

/// A request of a browser: what it asks for, and which browser it is.
type Asked = (Digest, u128);

#[derive(Debug)]
struct Expected {
    until: Moment,
    shown: Option<(Asked, ConsentView)>,
    answer: Option<bool>,
}

/// A code could not be expected or answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    /// Too many are.
    #[error("too many codes are waited for")]
    TooMany,
    /// No browser showed it.
    #[error("no browser shows this code to this gateway")]
    Unknown,
}

/// Codes that operators named.
#[derive(Debug)]
pub(crate) struct Desk {
    expected: Mutex<HashMap<Code, Expected>>,
    changed: watch::Sender<()>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { expected: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Desk {
    fn expected(&self, now: Moment) -> MutexGuard<'_, HashMap<Code, Expected>> {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.retain(|_, expected| now < expected.until);
        expected
    }

    /// Expects a code, and waits until a browser showed it. Whoever waits sets a limit.
    pub(crate) async fn expect(&self, code: Code, clock: &Clock) -> Result<ConsentView, DeskError> {
        let mut changed = self.changed.subscribe();
        {
            let now = clock.now();
            let mut expected = self.expected(now);
            if expected.len() >= MOST && !expected.contains_key(&code) {
                return Err(DeskError::TooMany);
            }
            let new = || Expected { until: now + HOLDS, shown: None, answer: None };
            expected.entry(code).or_insert_with(new).until = now + HOLDS;
        }
        loop {
            let shown = self.expected(clock.now()).get(&code).map(|expected| expected.shown.clone());
            match shown {
                Some(Some((_, view))) => return Ok(view),
                Some(None) => {}
                None => return Err(DeskError::Unknown),
            }
            if changed.changed().await.is_err() {
                return Err(DeskError::Unknown);
            }
        }
    }

    /// Returns true where an operator named the code.
    pub(crate) fn expects(&self, code: Code, now: Moment) -> bool {
        self.expected(now).contains_key(&code)
    }

    /// Shows a request under its code.
    pub(crate) fn present(
        &self,
        code: Code,
        asked: Asked,
        now: Moment,
        view: impl FnOnce() -> ConsentView,
    ) -> Standing {
        let mut all = self.expected(now);
        let Some(expected) = all.get_mut(&code) else { return Standing::Unknown };
        match &expected.shown {
            None => {
                expected.shown = Some((asked, view()));
                drop(all);
                self.changed.send_replace(());
                return Standing::Asked;
            }
            // Two requests of one code would be a feat of luck, or an attempt.
            Some((shown, _)) if *shown != asked => return Standing::Unknown,
            Some(_) => {}
        }
        let standing = match expected.answer {
            None => return Standing::Asked,
            Some(true) => Standing::Approved,
            Some(false) => Standing::Denied,
        };
        all.remove(&code);
        standing
    }

    /// Answers a code that a browser showed.
    pub(crate) fn answer(&self, code: Code, allow: bool, now: Moment) -> Result<(), DeskError> {
        let mut all = self.expected(now);
        let expected = all.get_mut(&code).filter(|expected| expected.shown.is_some()).ok_or(DeskError::Unknown)?;
        // A no stands: nothing is done yet.
        if expected.answer != Some(false) {
            expected.answer = Some(allow);
        }
        expected.until = now + HOLDS;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn view(client: &str) -> ConsentView {
        ConsentView {
            client: client.to_owned(),
            known: String::new(),
            client_id: String::new(),
            redirect: String::new(),
            resource: String::new(),
            days: 90,
            source: String::new(),
            warnings: Vec::new(),
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_code_that_no_operator_named() {
        let (desk, clock) = (Desk::default(), Clock::still());
        for number in 0..1_000u128 {
            let code = Code::parse("2345-6789").unwrap();
            let standing = desk.present(code, (Digest::of(b"a"), number), clock.now(), || view("a"));
            assert_eq!(standing, Standing::Unknown);
        }
        assert!(desk.expected(clock.now()).is_empty());
    }

    #[tokio::test]
    async fn what_the_operator_sees_and_approves_is_the_request_of_the_browser_that_showed_the_code() {
        let (desk, clock) = (Desk::default(), Clock::still());
        let code = Code::parse("2345-6789").unwrap();
        let (asked, other) = ((Digest::of(b"a"), 1), (Digest::of(b"b"), 1));
        assert_eq!(desk.answer(code, true, clock.now()), Err(DeskError::Unknown), "nothing was shown");
        let present = |asked, name: &'static str| desk.present(code, asked, clock.now(), || view(name));
        let showing = async {
            tokio::task::yield_now().await;
            assert_eq!(present(asked, "client"), Standing::Asked);
        };
        let (shown, ()) = tokio::join!(desk.expect(code, &clock), showing);
        assert_eq!(shown.unwrap().client, "client");
        assert_eq!(present(other, "other"), Standing::Unknown, "a code is of one request");
        assert_eq!(present(asked, "client"), Standing::Asked);
        desk.answer(code, true, clock.now()).unwrap();
        assert_eq!(present(other, "other"), Standing::Unknown);
        assert_eq!(present(asked, "client"), Standing::Approved);
        assert_eq!(present(asked, "client"), Standing::Unknown, "it is told once");
    }

    #[tokio::test]
    async fn an_answer_ends_with_its_time_and_a_no_stands() {
        let (desk, clock) = (Desk::default(), Clock::still());
        let code = Code::parse("2345-6789").unwrap();
        let asked = (Digest::of(b"a"), 1);
        for (answers, wait, expected) in [
            (&[true][..], Duration::from_mins(5), Standing::Unknown),
            (&[false, true][..], Duration::ZERO, Standing::Denied),
        ] {
            let showing = async {
                tokio::task::yield_now().await;
                desk.present(code, asked, clock.now(), || view("client"));
            };
            let (shown, ()) = tokio::join!(desk.expect(code, &clock), showing);
            shown.unwrap();
            for answer in answers {
                desk.answer(code, *answer, clock.now()).unwrap();
            }
            clock.advance(wait);
            assert_eq!(desk.present(code, asked, clock.now(), || view("client")), expected);
        }
    }

    #[tokio::test]
    async fn codes_that_are_expected_are_bounded() {
        let (desk, clock) = (Desk::default(), Clock::still());
        let seal = crate::seal::Seal::new(&[7; 32]);
        let mut refused = 0;
        for number in 0..40u8 {
            let code = crate::browser::Browser::new(0).unwrap().code(&seal, &Digest::of(&[number]));
            let waiting = tokio::time::timeout(Duration::from_millis(1), desk.expect(code, &clock));
            refused += u32::from(matches!(waiting.await, Ok(Err(DeskError::TooMany))));
        }
        assert_eq!(refused, 8);
    }
}

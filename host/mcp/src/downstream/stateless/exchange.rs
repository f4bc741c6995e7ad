//! One call during which the client may be asked: what a server or a gate asks waits here for the client's next round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use rmcp::model::{ConstString as _, LoggingMessageNotificationMethod, ProgressNotificationMethod};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::Tell;
use crate::downstream::{AskError, LogLevel, Outlet, Question, Way};
use crate::gateway::{Boxed, check_elicitation, not_offered};
use crate::jsonrpc::{ErrorObject, code};
use crate::method::ServerMethod;

/// So many questions of one call wait at once: a server's flood ends here, a form for a person has one.
const MOST_INPUTS: usize = 16;
/// Longer keys of servers are replaced.
const LONGEST_KEY: usize = 64;
/// So many rounds one call may take: sampling loops have a handful.
pub(super) const MOST_ROUNDS: u32 = 32;
/// Where nothing new is asked for so long, the client is asked what there is: several questions at once cost one round.
const QUIET: Duration = Duration::from_millis(40);

/// So much of what is said while no round listens is kept for the next one; of more, the latest.
const MOST_MISSED: usize = 32;

/// Where the present round of a call is told what happens.
pub(super) struct Present {
    pub(super) tell: Tell,
    /// The token under which it wants progress.
    pub(super) token: Option<Value>,
    /// From which level on it wants log messages.
    pub(super) level: Option<LogLevel>,
}

impl Present {
    /// Tells it what it wants to hear of. A request hears of nothing else.
    fn hear(&self, method: &str, params: Option<&Value>) {
        match (method, params) {
            (ProgressNotificationMethod::VALUE, Some(Value::Object(params))) => {
                if let Some(token) = &self.token {
                    let mut params = params.clone();
                    params.insert("progressToken", token.clone());
                    (self.tell)(method, Some(&params.into()));
                }
            }
            (LoggingMessageNotificationMethod::VALUE, _) if self.level.is_some() => (self.tell)(method, params),
            _ => {}
        }
    }
}

struct Input {
    key: String,
    method: String,
    params: Value,
    sender: oneshot::Sender<Value>,
}

#[derive(Default)]
struct State {
    present: Option<Present>,
    next: u64,
    inputs: BTreeMap<u64, Input>,
    /// When something was asked last.
    asked: Option<Instant>,
    /// How many rounds have been answered with questions.
    round: u32,
    closed: bool,
    /// What a server wanted and the client does not offer.
    undeclared: BTreeSet<String>,
    /// What was said since the last round: its method and parameters.
    missed: VecDeque<(String, Value)>,
    /// Answers that came with the call, before anything was asked, under the server's own keys. Each is taken once.
    early: Object,
}

/// One call during which the client may be asked. Ends with its [`Carrier`].
pub(super) struct Exchange {
    capabilities: Value,
    state: Mutex<State>,
    asked: Notify,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Builds an exchange with a client that offers these capabilities.
    pub(super) fn new(capabilities: Value, present: Present) -> Self {
        Self::with_answers(capabilities, present, Object::new())
    }

    /// Builds an exchange with a client that gives answers with its call, to questions that it expects.
    pub(super) fn with_answers(capabilities: Value, present: Present, early: Object) -> Self {
        let state = State { present: Some(present), early, ..State::default() };
        Self { capabilities, state: Mutex::new(state), asked: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails whatever still waits: nobody carries it to the client any more.
    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.present = None;
        state.inputs.clear();
        state.missed.clear();
    }

    /// Waits until something was asked and nothing more for a moment.
    pub(super) async fn must_ask(&self) {
        loop {
            let asked = self.asked.notified();
            let until = {
                let state = self.state();
                state.asked.filter(|_| !state.inputs.is_empty()).map(|asked| asked + QUIET)
            };
            match until {
                Some(until) if until <= Instant::now() => return,
                Some(until) => {
                    let _ = tokio::time::timeout_at(until, asked).await;
                }
                None => asked.await,
            }
        }
    }

    /// Ends the present round: returns its number and what the client is asked, each question under its key. Nothing
    /// where there were too many rounds.
    pub(super) fn pause(&self) -> Option<(u32, Value)> {
        let mut state = self.state();
        state.present = None;
        state.round += 1;
        let mut requests = Object::new();
        for input in state.inputs.values() {
            let mut request = object! { "method" => input.method.as_str() };
            if input.params.as_object().is_some_and(|params| !params.is_empty()) {
                request.insert("params", input.params.clone());
            }
            requests.insert(input.key.as_str(), request);
        }
        (state.round <= MOST_ROUNDS).then(|| (state.round, requests.into()))
    }

    /// Begins the next round with the client's answers. Answers to nothing that was asked are left out; what is not
    /// answered is asked again. Where an answer is none, the round does not begin.
    pub(super) fn resume(&self, round: u32, responses: &Value, present: Present) -> Result<(), ErrorObject> {
        let mut state = self.state();
        if state.round != round || state.present.is_some() {
            return Err(ErrorObject::new(code::INVALID_PARAMS, "this round has been answered before"));
        }
        for input in state.inputs.values() {
            if let Some(answer) = responses.get(&input.key) {
                check_answer(&input.method, &input.params, answer)?;
            }
        }
        for (method, params) in std::mem::take(&mut state.missed) {
            present.hear(&method, Some(&params));
        }
        state.present = Some(present);
        // What was not answered is asked again in a moment: answered questions lead to further ones first.
        state.asked = Some(Instant::now());
        let (answered, waiting) =
            std::mem::take(&mut state.inputs).into_iter().partition(|(_, input)| responses.get(&input.key).is_some());
        state.inputs = waiting;
        for input in answered.into_values() {
            if let Some(answer) = responses.get(&input.key) {
                // Whoever asked may have given up meanwhile.
                let _ = input.sender.send(answer.clone());
            }
        }
        drop(state);
        self.asked.notify_waiters();
        Ok(())
    }

    /// Returns what a server wanted of the client and the client does not offer; nothing where it wanted nothing such.
    pub(super) fn undeclared(&self) -> Option<Value> {
        let state = self.state();
        let mut required = Object::new();
        for name in &state.undeclared {
            match name.split_once('.') {
                Some((name, mode)) => required.insert(name, object! { mode => object! {} }),
                None => required.insert(name.as_str(), object! {}),
            };
        }
        (!required.is_empty()).then(|| required.into())
    }

    /// Returns the capability that a question needs and the client did not declare. Whether a server may wish for context
    /// is for its peer to know.
    fn lacks(&self, method: &str, params: &Value) -> Option<&'static str> {
        ServerMethod::parse(method).lacks(&self.capabilities, params).filter(|lacking| *lacking != "sampling.context")
    }
}

/// Carries the questions of an exchange to the client for as long as it lives.
pub(super) struct Carrier(pub(super) Arc<Exchange>);

impl Drop for Carrier {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Returns the key that the client sees: the server's own, where it gave one that is short and plain and not in use.
fn key_of(number: u64, wanted: Option<&str>, inputs: &BTreeMap<u64, Input>) -> String {
    let is_plain = |key: &str| {
        let is_short = (1..=LONGEST_KEY).contains(&key.len());
        is_short && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    };
    let own = || format!("input-{number}");
    let is_free = |key: &str| inputs.values().all(|input| input.key != key);
    match wanted {
        Some(key) if is_plain(key) && is_free(key) => key.to_owned(),
        // A server may have used a key of this form; the number of the next one is not its to know.
        _ => {
            if is_free(&own()) {
                own()
            } else {
                format!("{}-{:08x}", own(), getrandom::u32().unwrap_or_default())
            }
        }
    }
}

/// Returns the parameters without the token under which the server of an earlier era would hear of progress: nobody tells
/// it.
fn without_token(params: &Value) -> Value {
    let mut params = params.clone();
    if params.remove_pointer("/_meta/progressToken").is_some()
        && params.get("_meta").and_then(Value::as_object).is_some_and(Object::is_empty)
    {
        params.remove_pointer("/_meta");
    }
    params
}

/// Checks that an answer has the form of one, so that a client learns at once what it did wrong.
pub(crate) fn check_answer(method: &str, params: &Value, answer: &Value) -> Result<(), ErrorObject> {
    let text = |text: &str| ErrorObject::new(code::INVALID_PARAMS, text);
    if answer.as_object().is_none() {
        return Err(text("an input response is no object"));
    }
    match ServerMethod::parse(method) {
        ServerMethod::Elicit => {
            let action = answer.get("action").and_then(Value::as_str);
            if !matches!(action, Some("accept" | "decline" | "cancel")) {
                return Err(text("the response to an elicitation has no action that exists"));
            }
            check_elicitation(params, answer.clone()).map(drop).map_err(|error| error.with_code(code::INVALID_PARAMS))
        }
        ServerMethod::ListRoots if answer.get("roots").and_then(Value::as_array).is_none() => {
            Err(text("the response to roots/list has no roots"))
        }
        ServerMethod::CreateMessage if answer.get("content").is_none() => {
            Err(text("the response to sampling/createMessage has no content"))
        }
        ServerMethod::ListRoots | ServerMethod::CreateMessage | ServerMethod::Ping | ServerMethod::Unknown => Ok(()),
    }
}

/// Takes a question back that nobody waits for any more.
struct Withdraw<'a>(&'a Exchange, u64);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.0.state().inputs.remove(&self.1);
    }
}

impl Way for Exchange {
    fn request<'a>(
        &'a self,
        // Every request of this era has a way of its own, which is this.
        _outlet: Option<&'a Outlet>,
        Question { method, key: wanted, params, limit }: Question<'a>,
    ) -> Boxed<'a, Result<Value, AskError>> {
        Box::pin(async move {
            if let Some(lacking) = self.lacks(method, params) {
                self.note_undeclared(lacking);
                return Err(AskError::Refused(not_offered(lacking)));
            }
            let (sender, receiver) = oneshot::channel();
            let key = {
                let mut state = self.state();
                if state.closed {
                    return Err(AskError::Gone);
                }
                if let Some(answer) = wanted.and_then(|key| state.early.remove(key))
                    && check_answer(method, params, &answer).is_ok()
                {
                    return Ok(answer);
                }
                if state.inputs.len() >= MOST_INPUTS {
                    return Err(AskError::Busy);
                }
                state.next += 1;
                state.asked = Some(Instant::now());
                let number = state.next;
                let key = key_of(number, wanted, &state.inputs);
                let input = Input { key, method: method.to_owned(), params: without_token(params), sender };
                state.inputs.insert(number, input);
                number
            };
            let _withdraw = Withdraw(self, key);
            self.asked.notify_waiters();
            match tokio::time::timeout(limit, receiver).await {
                Ok(answer) => answer.map_err(|_| AskError::Gone),
                Err(_) => Err(AskError::TimedOut),
            }
        })
    }

    fn notify(&self, _outlet: Option<&Outlet>, method: &str, params: Option<&Value>) {
        let mut state = self.state();
        if let Some(present) = &state.present {
            return present.hear(method, params);
        }
        // Between two rounds nobody listens; after the last one nobody will.
        if let Some(params) = params.filter(|_| !state.closed) {
            if state.missed.len() >= MOST_MISSED {
                state.missed.pop_front();
            }
            state.missed.push_back((method.to_owned(), params.clone()));
        }
    }

    fn note_undeclared(&self, capability: &str) {
        self.state().undeclared.insert(capability.to_owned());
    }
}

#[cfg(test)]
mod tests;

//! A cleared call on its way to a server: its turn, the connection, the answer, and what may be sent a second time.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use portcullis_gates::{Call, Cleared};
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, ResultKind};
use rmcp::model::{ConstString as _, ProgressNotificationMethod};

use super::breaker::{Admitted, Held, Strike};
use super::failure::failure;
use super::link::Caller;
use super::pages::{self, MOST_TIMES, Pages};
use super::reach::{changed, held_back, unavailable};
use super::route::Route;
use super::server::{Connected, Server};
use super::tasks;
use super::turns::TooManyWait;
use super::voice::{Saying, say};
use super::{Answer, Fleet, LinkError, OnProgress};
use crate::downstream::{ClientSession, Outlet, Reply};
use crate::method::Verb;

/// A cleared call on its way.
pub(crate) struct Delivery<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) session: &'a Arc<ClientSession>,
    pub(crate) route: &'a Route,
    pub(crate) call: &'a Cleared<Call>,
    pub(crate) verb: Verb,
    /// The client's token for progress.
    pub(crate) token: Option<Value>,
    /// Where goes what precedes the answer, where that is another way than the session's.
    pub(crate) outlet: Option<&'a Outlet>,
    /// True where whoever asked reads a tool's result.
    pub(crate) as_tool: bool,
}

impl Delivery<'_> {
    /// Sends the call and returns the answer with the connection that gave it. `judged_on` is the number of the connection
    /// that was there when the call was judged, if one was.
    ///
    /// A call is sent a second time only where the first provably did nothing, or where it only reads. What is sent is what
    /// was cleared, and only while its definition is the one that was judged.
    pub(crate) async fn deliver(&self, judged_on: Option<u64>) -> Result<(Answer, Arc<Connected>), Reply> {
        let (server, as_tool) = (&self.route.server, self.as_tool);
        let subscribers = &server.subscribers;
        let changes_subscriptions = matches!(self.verb, Verb::Subscribe | Verb::Unsubscribe);
        let _telling = if changes_subscriptions { Some(subscribers.telling.lock().await) } else { None };
        if self.verb == Verb::Unsubscribe && subscribers.remove(&self.route.name, self.session.number).others {
            // The server knows of one who subscribed, and others still want to hear.
            let connected = self.fleet.reach(server).await.ok_or_else(|| unavailable(server, as_tool))?;
            return Ok((Ok(Object::new().into()), connected));
        }
        // The time limit of a call starts when it is sent.
        let serial = server.options().supports_parallel_tool_calls == Some(false);
        let _turn = match server.turns.take(serial).await {
            Ok(turn) => turn,
            Err(TooManyWait { most }) => return Err(failure(server, &LinkError::Busy { most }, as_tool)),
        };
        let mut is_repeated = false;
        loop {
            let Some((connected, guard)) = self.fleet.begin(server, self.session.number, self.outlet).await else {
                return Err(unavailable(server, as_tool));
            };
            if judged_on != Some(connected.number) && !self.is_unchanged() {
                return Err(changed(server, as_tool));
            }
            let admitted = match server.breaker.admit() {
                Ok(admitted) => admitted,
                Err(Held(left)) => return Err(held_back(server, left, as_tool)),
            };
            server.usage.note_sent(self.route.kind, &self.route.name, &self.call.get().params);
            let mut outcome = self.send(&connected, guard.call()).await;
            // A server that wants a page opened first has done nothing yet.
            let mut pages = Pages::Stand;
            for _ in 0..MOST_TIMES {
                pages = self.fleet.open_pages(self.session, server, &outcome).await;
                if !matches!(pages, Pages::Opened) {
                    break;
                }
                outcome = self.send(&connected, guard.call()).await;
            }
            drop(guard);
            server.usage.note_outcome(&outcome);
            note_outcome(server, admitted, connected.number, &outcome);
            let error = match outcome {
                Ok(_) if matches!(pages, Pages::Declined) => return Err(pages::declined(server, as_tool)),
                Ok(answer) => {
                    server.answers.fetch_add(1, Ordering::Relaxed);
                    if self.verb == Verb::Subscribe && answer.is_ok() {
                        subscribers.add(&self.route.name, self.session.number);
                    }
                    return Ok((answer, connected));
                }
                Err(error) => error,
            };
            let again = !is_repeated && self.may_be_repeated(&error);
            if !again || !self.fleet.is_replaced(server, connected.number).await {
                return Err(failure(server, &error, as_tool));
            }
            tracing::info!(server = %server.name(), %error, "a call is sent again over a new connection");
            is_repeated = true;
        }
    }

    /// Returns true where the definition that was judged is the one that is published.
    fn is_unchanged(&self) -> bool {
        let Route { server, kind, name, definition, .. } = self.route;
        definition.is_none_or(|judged| self.fleet.definitions.current(server.name(), *kind, name) == Some(judged))
    }

    /// Returns true where a second try can't do anything twice.
    fn may_be_repeated(&self, error: &LinkError) -> bool {
        match error {
            LinkError::Expired | LinkError::Gone { sent: false, .. } => true,
            LinkError::Gone { sent: true, .. } => self.only_reads(),
            // Whoever was too slow once may still be at it.
            LinkError::TimedOut { .. }
            | LinkError::Busy { .. }
            | LinkError::Login(_)
            | LinkError::NotAnswered { .. }
            | LinkError::Malformed { .. } => false,
        }
    }

    /// Returns true for what only reads: by the protocol, or by what the published definition says of a tool. A hint that
    /// is missing is none, whatever the name of the tool says.
    fn only_reads(&self) -> bool {
        matches!(self.verb, Verb::Plain | Verb::MayBecomeTask | Verb::AsTask | Verb::ThroughTask)
            && match self.route.kind {
                CallKind::Tool => self.route.annotations.read_only == Some(true),
                CallKind::Prompt | CallKind::Resource | CallKind::Completion => true,
            }
    }

    /// Sends the call and waits for its answer, which comes after all that the server said before it.
    async fn send(&self, connected: &Connected, call: u64) -> Result<Answer, LinkError> {
        let running = self.token.as_ref().map(|token| (token, Arc::new(())));
        let caller = Caller {
            session: self.session.number,
            call,
            capabilities: self.fleet.declared_by(self.session, &self.route.server.options()),
            progress: running.as_ref().map(|(token, running)| self.on_progress(Value::clone(token), running)),
        };
        let mut outcome = connected.link.call(self.call, self.verb, caller).await;
        if let (Ok(answer), Verb::ThroughTask) = (&outcome, self.verb) {
            let limit = self.route.server.options().timeout;
            outcome = tasks::follow(Arc::clone(&connected.link), answer.clone(), limit).await;
        }
        self.route.server.voice.heard(self.session.number).await;
        outcome
    }

    /// Returns what passes progress on under the client's own token, for as long as the call is running.
    fn on_progress(&self, token: Value, running: &Arc<()>) -> OnProgress {
        let (server, session) = (Arc::clone(&self.route.server), Arc::clone(self.session));
        let (name, outlet) = (self.call.get().name.clone(), self.outlet.cloned());
        let running = Arc::downgrade(running);
        Arc::new(move |mut params| {
            if let Some(params) = params.as_object_mut() {
                params.insert("progressToken", token.clone());
            }
            let saying = Saying {
                kind: ResultKind::Progress,
                name: name.clone(),
                method: ProgressNotificationMethod::VALUE.to_owned(),
                params,
                to: vec![(Arc::clone(&session), outlet.clone())],
                call: Some(Weak::clone(&running)),
            };
            say(&session.fleet, &server, saying);
        })
    }
}

/// Tells the breaker how a call went. What the server itself answers, an error or not, is an answer.
fn note_outcome(server: &Server, admitted: Admitted<'_>, number: u64, outcome: &Result<Answer, LinkError>) {
    match outcome {
        Ok(_) => {
            if admitted.answered() {
                tracing::info!(server = %server.name(), "a call was answered: calls are let through again");
                server.set_held_back(false);
            }
        }
        // Nothing was asked of the server, it only forgot who asks, or it was not given what it asked for.
        Err(LinkError::Busy { .. } | LinkError::Expired | LinkError::Login(_) | LinkError::NotAnswered { .. }) => {}
        Err(error) => {
            let lost = matches!(error, LinkError::Gone { .. });
            if admitted.failed(if lost { Strike::Lost(number) } else { Strike::NoAnswer }) {
                tracing::warn!(server = %server.name(), %error, "calls failed in a row and are held back for a while");
                server.set_held_back(true);
            }
        }
    }
}

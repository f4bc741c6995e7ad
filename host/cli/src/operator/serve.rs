//! A gateway's side of the socket.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_config::{Approvals, OperatorProof};
use portcullis_door::FrontDoor;
use portcullis_gates::{AnswerEffect, AnswerError, Constraint, Inbox, OperatorAnswer, Scope};
use portcullis_mcp::answers_by_itself;
use portcullis_model::ApproverClass;
use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::{Home, SqliteStore};
use tokio::io::{AsyncBufRead, AsyncWrite, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinHandle;

use super::door::{self, Door};
use super::gateways::{Gateways, remove};
use super::kinship::Kinship;
use super::line::{self, LineError};
use super::message::{Shown, error, shown_to_value};
use super::passphrase::Passphrase;
use super::policies::Policies;
use super::proof::{Proof, is_at_another_terminal, is_same_user};
use super::status::Watched;
use super::{LONGEST_REQUEST, PATIENCE, STANDARD_STREAMS};
use crate::failure::{OrExit as _, one_line};
use crate::{Exit, Failure};

/// So many commands are connected at once: a few watch, one answers.
const MOST_CONNECTIONS: usize = 32;

/// Changes come in bursts: so long they are let finish before watchers are told.
const SETTLE: Duration = Duration::from_millis(50);

/// After a wrong passphrase the next one is looked at so much later, whoever sends it.
const PENALTY: Duration = Duration::from_secs(2);

/// A gateway's ear for operators. Dropping it ends it: what nobody waits for cannot be answered any more.
#[derive(Debug)]
pub(crate) struct Surface {
    path: PathBuf,
    inbox: Inbox,
    door: Door,
    listening: JoinHandle<()>,
}

impl Surface {
    /// Listens on a socket of its own in the home. Call it inside a tokio runtime.
    pub(crate) fn open(
        home: &Home,
        watched: Watched,
        approvals: &Approvals,
        versions: Option<Arc<SqliteStore>>,
    ) -> Result<Self, Failure> {
        let passphrase = Passphrase::read(home).or_exit(Exit::State, "reading the passphrase for approvals")?;
        let proof = match (passphrase, approvals.proof) {
            (Some(passphrase), _) => Proof::Passphrase(Some(passphrase)),
            (None, OperatorProof::Passphrase) => Proof::Passphrase(None),
            (None, OperatorProof::Terminal) => Proof::Terminal,
            (None, OperatorProof::None) => Proof::None,
        };
        let gateways = Gateways::of(home).or_exit(Exit::State, "opening the folder for approvals")?;
        let path = gateways.own();
        let listener = UnixListener::bind(&path)
            .or_exit(Exit::State, "listening for approvals")
            .map_err(|failure| failure.hint("the path of a socket is 107 bytes at most: use a shorter home folder"))?;
        // The folder keeps others out in the moment before this.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
            .or_exit(Exit::State, "closing the socket to others")?;
        let inbox = watched.gates.inbox().clone();
        inbox.open();
        let door = Door::default();
        let policies = Policies { judging: Arc::clone(&watched.policies), versions, updates: watched.updates.clone() };
        let desk = Desk {
            watched,
            proof,
            checking: Mutex::default(),
            door: Arc::clone(&door),
            policies,
            approvals: approvals.clone(),
        };
        let desk = Arc::new(desk);
        let listening = tokio::spawn(async move {
            // Sockets of gateways that were killed go, those of others are left alone.
            if let Err(error) = gateways.connect().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the folder for approvals cannot be read");
            }
            listen(listener, desk).await;
        });
        Ok(Self { path, inbox, door, listening })
    }

    /// Hears what operators say about a front door as well. A gateway has one at most.
    pub(crate) fn attend(&self, front_door: &Arc<FrontDoor>) {
        let _ = self.door.set(Arc::clone(front_door));
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        self.inbox.close();
        self.listening.abort();
        remove(&self.path);
    }
}

/// What all connections share.
#[derive(Debug)]
struct Desk {
    watched: Watched,
    proof: Proof,
    /// Held while a passphrase is checked, and for a while after a wrong one.
    checking: Mutex<()>,
    door: Door,
    policies: Policies,
    approvals: Approvals,
}

async fn listen(listener: UnixListener, desk: Arc<Desk>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "an operator could not be heard");
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!("too many operators are connected; one is turned away");
            continue;
        };
        match is_same_user(&stream) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("another user tried to answer questions and was turned away");
                continue;
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "it cannot be told who connects");
                continue;
            }
        }
        let desk = Arc::clone(&desk);
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = desk.attend(stream).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "an operator's connection ended");
            }
        });
    }
}

impl Desk {
    async fn attend(&self, stream: UnixStream) -> Result<(), LineError> {
        // Asked now: the process may be another one later.
        let is_elsewhere = matches!(self.proof, Proof::Terminal) && is_at_another_terminal(&stream).unwrap_or(false);
        let kinship = Kinship::of(&stream);
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = BufReader::new(reader);
        loop {
            let request = tokio::time::timeout(PATIENCE, line::read(&mut reader, LONGEST_REQUEST)).await;
            let Some(request) = request.map_err(|_| LineError::TimedOut)?? else {
                return Ok(());
            };
            match request.get("do").and_then(Value::as_str).unwrap_or_default() {
                "list" => self.list(&mut writer).await?,
                "status" => self.status(&mut writer).await?,
                "watch" => return self.watch(&mut reader, &mut writer).await,
                "answer" => line::write(&mut writer, self.answer(&request, is_elsewhere).await).await?,
                "answer-as-client" => line::write(&mut writer, self.answer_as_client(&request, kinship).await).await?,
                "look" => {
                    self.watched.look.notify_one();
                    line::write(&mut writer, object! { "done" => "looks" }).await?;
                }
                "rejudge" => {
                    self.watched.gates.forget_answers();
                    line::write(&mut writer, object! { "done" => "rejudged" }).await?;
                }
                "expect" => line::write(&mut writer, door::expect(&self.door, &request).await).await?,
                "consent" => line::write(&mut writer, self.consent(&request, is_elsewhere).await).await?,
                "consents" => line::write(&mut writer, door::grants(&self.door)).await?,
                "revoke" => line::write(&mut writer, door::revoke(&self.door, &request).await).await?,
                "policies" => line::write(&mut writer, self.policies.status(&self.watched.gates)).await?,
                "promote" => line::write(&mut writer, self.exchange(&request, is_elsewhere, false).await).await?,
                "rollback" => line::write(&mut writer, self.exchange(&request, is_elsewhere, true).await).await?,
                _ => line::write(&mut writer, error("unknown-request", "there is no such request")).await?,
            }
        }
    }

    /// Either way may loosen, so that either needs the proof of an approval.
    async fn exchange(&self, request: &Object, is_elsewhere: bool, back: bool) -> Object {
        if let Err(refused) = self.prove(request.get("passphrase").and_then(Value::as_str), is_elsewhere).await {
            return refused;
        }
        let (policies, gates, request) = (self.policies.clone(), Arc::clone(&self.watched.gates), request.clone());
        // A version is written to the database.
        let moved = tokio::task::spawn_blocking(move || policies.exchange(&gates, &request, back)).await;
        moved.unwrap_or_else(|_| error("failed", "the policies could not be moved"))
    }

    async fn list(&self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), LineError> {
        for pending in self.watched.gates.inbox().pending() {
            line::write(writer, object! { "pending" => shown_to_value(&Shown::of(&pending)) }).await?;
        }
        line::write(writer, object! { "end" => true }).await
    }

    async fn status(&self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), LineError> {
        for line in self.watched.lines() {
            line::write(writer, line).await?;
        }
        line::write(writer, object! { "end" => true }).await
    }

    /// Tells an operator who watches of every change, until they go.
    async fn watch(
        &self,
        reader: &mut (impl AsyncBufRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), LineError> {
        let _attached = self.watched.gates.inbox().attach();
        let mut changes = self.watched.gates.inbox().changes();
        loop {
            changes.borrow_and_update();
            self.list(writer).await?;
            tokio::select! {
                told = changes.changed() => if told.is_err() {
                    return Ok(());
                },
                // Whoever watches has nothing to say: this is the end, or a mistake.
                _ended = line::read(reader, LONGEST_REQUEST) => return Ok(()),
            }
            tokio::time::sleep(SETTLE).await;
        }
    }

    async fn answer(&self, request: &Object, is_elsewhere: bool) -> Object {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let (Some(id), Some(allow)) = (text("id"), request.get("allow").and_then(Value::as_bool)) else {
            return error("malformed", "an answer names the question and says yes or no");
        };
        let scope = text("for").map(Scope::parse);
        let constraint = request.get("constrain").map_or(Some(Constraint::default()), Constraint::from_value);
        let (Some(constraint), None | Some(Some(_))) = (constraint, scope) else {
            return error("malformed", "the constraint or the time for which it holds is not understood");
        };
        // A refusal needs no proof: it loosens nothing.
        if allow && let Err(refused) = self.prove(text("passphrase"), is_elsewhere).await {
            return refused;
        }
        let answer = OperatorAnswer { allow, scope: scope.flatten(), constraint, surface: "terminal".to_owned() };
        outcome(self.watched.gates.answer(id, answer).await)
    }

    /// Takes an answer that an assistant gives by the control server. It is worth what a client's is, and the one whose
    /// call waits does not give it.
    async fn answer_as_client(&self, request: &Object, kinship: Kinship) -> Object {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let scope = text("for").and_then(Scope::parse);
        let allow = request.get("allow").and_then(Value::as_bool);
        let (Some(id), Some(allow), Some(scope), Some(client)) = (text("id"), allow, scope, text("client")) else {
            return error("malformed", "an answer names the question, the client, and says yes or no");
        };
        let Some(pending) = self.watched.gates.inbox().find(id) else {
            return error("unknown", &format!("no question `{}` is open here", one_line(id)));
        };
        if !self.approvals.client || answers_by_itself(&self.approvals, client) {
            return error("client-approval-off", "the config does not let this client answer");
        }
        let sessions = self.watched.gates.sessions().list();
        let asking = sessions.iter().find(|session| session.id.as_str() == pending.session);
        let is_same_client = asking.is_none_or(|session| session.client.name.eq_ignore_ascii_case(client));
        let over_streams = self.watched.front.get().is_none_or(|front| front == STANDARD_STREAMS);
        // Over HTTP it cannot be told which process asks, so the names of clients have to differ.
        let is_own = if over_streams { kinship.may_be_one_client() } else { kinship.is_below() || is_same_client };
        if is_own {
            return error("own-session", "whoever asks cannot answer: it needs another client, or an operator");
        }
        let surface = format!("control ({})", client.chars().take(64).collect::<String>());
        let (scope, constraint) = (Some(scope), Constraint::default());
        let answer = OperatorAnswer { allow, scope, constraint, surface: one_line(&surface) };
        outcome(self.watched.gates.answer_as(ApproverClass::Client, id, answer).await)
    }

    async fn consent(&self, request: &Object, is_elsewhere: bool) -> Object {
        let Some(allow) = request.get("allow").and_then(Value::as_bool) else {
            return error("malformed", "an answer says yes or no");
        };
        let passphrase = request.get("passphrase").and_then(Value::as_str);
        if allow && let Err(refused) = self.prove(passphrase, is_elsewhere).await {
            return refused;
        }
        door::consent(&self.door, request, allow)
    }

    async fn prove(&self, passphrase: Option<&str>, is_elsewhere: bool) -> Result<(), Object> {
        match &self.proof {
            Proof::None => Ok(()),
            Proof::Terminal if is_elsewhere => Ok(()),
            Proof::Terminal => Err(error("no-terminal", "an approval must come from a terminal of another session")),
            Proof::Passphrase(None) => Err(error(
                "no-passphrase",
                "the config asks for a passphrase and none was set when the gateway started; hint: set one with \
                 `portcullis approvals passphrase` and restart it",
            )),
            Proof::Passphrase(Some(set)) => {
                let Some(given) = passphrase.map(str::to_owned) else {
                    return Err(error("passphrase-needed", "an approval needs the passphrase"));
                };
                let _one_at_a_time = self.checking.lock().await;
                let set = set.clone();
                let is_right = tokio::task::spawn_blocking(move || set.is(&given)).await.unwrap_or(false);
                if is_right {
                    return Ok(());
                }
                tracing::warn!("a wrong passphrase was given for an approval");
                tokio::time::sleep(PENALTY).await;
                Err(error("wrong-passphrase", "the passphrase is wrong"))
            }
        }
    }
}

/// Returns what is told of an answer.
fn outcome(effect: Result<AnswerEffect, AnswerError>) -> Object {
    match effect {
        Ok(AnswerEffect::Released) => object! { "done" => "released" },
        Ok(AnswerEffect::Kept) => object! { "done" => "kept" },
        Err(failed) => {
            let cause = std::error::Error::source(&failed).map(|cause| format!(": {cause}")).unwrap_or_default();
            error(failed.code(), &one_line(&format!("{failed}{cause}")))
        }
    }
}

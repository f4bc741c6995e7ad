//! Calls of the stateless era, in which a server that wants something of the client answers with that and is called again
//! (MCP 2026-07-28, multi round-trip requests).

use std::sync::Arc;
use std::time::Duration;

use portcullis_gates::Call;
use portcullis_model::json::{Object, Value};
use portcullis_model::{CallKind, object};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::call::{Outgoing, exchange, method_of};
use super::era::{ResultKind, Stateless, complete, kind_of};
use super::list::{ListMethod, list};
use super::shared::Shared;
use super::{CallError, CallOptions, CallerId, Outcome};
use crate::jsonrpc::{MalformedReason, code};
use crate::method::ServerMethod;

/// A server may want something so often during one call. Forms of several steps have three or four; the SDKs stop here too.
const MOST_ROUNDS: usize = 10;
/// So much it may want at once: as many requests of a server of the earlier era are answered at once.
const MOST_REQUESTS: usize = 16;
/// A state of the server that comes back with the next round may be so long. It holds what the server would otherwise keep;
/// with the call itself it must fit into what servers take as a request, mostly one megabyte.
const LONGEST_STATE: usize = 256 * 1024;
/// A server that wants nothing but to be called again is given so long at first …
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// … twice as long each time, and at most so long.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What goes with the next round.
#[derive(Default)]
struct Carried {
    responses: Option<Value>,
    state: Option<Value>,
}

pub(super) async fn call(
    shared: &Arc<Shared>,
    era: &Stateless,
    call: &Call,
    options: CallOptions,
) -> Result<Outcome, CallError> {
    let name = Value::from(call.name.as_str());
    let own = match call.kind {
        CallKind::Tool | CallKind::Prompt => "name",
        CallKind::Resource => "uri",
        CallKind::Completion => {
            let outgoing = outgoing(era, call, &[], options);
            return complete(exchange(shared, outgoing).await?);
        }
    };
    let mut carried = Carried::default();
    let (mut round, mut pause, mut is_listed_anew) = (0, FIRST_PAUSE, false);
    loop {
        // Members of these names that came with the call were meant for somebody else, or would be a forged round.
        let members = [
            (own, Some(&name)),
            ("inputResponses", carried.responses.as_ref()),
            ("requestState", carried.state.as_ref()),
        ];
        match exchange(shared, outgoing(era, call, &members, options.clone())).await? {
            Err(error) if error.code() == code::HEADER_MISMATCH && shared.wire().has_headers() && !is_listed_anew => {
                // The schema that tells the headers has changed. Nothing was done, so the call is not sent a second time.
                is_listed_anew = true;
                list(shared, ListMethod::Tools).await?;
            }
            Ok(result) if kind_of(&result) == ResultKind::InputRequired => {
                round += 1;
                if round > MOST_ROUNDS {
                    return Err(CallError::Rounds(MOST_ROUNDS));
                }
                let declared = options.capabilities.as_ref().unwrap_or_else(|| era.capabilities(false));
                let wanted = Wanted::read(declared, result)?;
                carried.state = wanted.state;
                if wanted.requests.is_empty() {
                    carried.responses = None;
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                } else {
                    carried.responses = Some(gather(shared, options.caller, wanted.requests).await?);
                }
            }
            Ok(result) if options.takes_task && kind_of(&result) == ResultKind::Task => return Ok(Ok(result)),
            outcome => return complete(outcome),
        }
    }
}

fn outgoing<'a>(
    era: &'a Stateless,
    call: &'a Call,
    members: &'a [(&'a str, Option<&'a Value>)],
    options: CallOptions,
) -> Outgoing<'a> {
    let name = (call.kind != CallKind::Completion).then_some(call.name.as_str());
    let (method, params) = (method_of(call.kind), Some(&call.params));
    Outgoing { method, params, name, members, options, cancellable: true, lasting: false, era: Some(era) }
}

/// A request of the server: its key, method and parameters.
type Request = (String, String, Option<Value>);

/// What a server wants before it goes on.
struct Wanted {
    requests: Vec<Request>,
    state: Option<Value>,
}

fn malformed(reason: &'static str) -> CallError {
    CallError::Malformed(MalformedReason::Envelope(reason))
}

impl Wanted {
    fn read(declared: &Value, result: Value) -> Result<Self, CallError> {
        let Value::Object(mut result) = result else {
            return Err(malformed("it wants input without saying which"));
        };
        let state = match result.remove("requestState") {
            None | Some(Value::Null) => None,
            Some(Value::String(state)) if state.len() > LONGEST_STATE => {
                return Err(malformed("its state is too long"));
            }
            Some(state @ Value::String(_)) => Some(state),
            Some(_) => return Err(malformed("its state is no string")),
        };
        let requests = match result.remove("inputRequests") {
            None | Some(Value::Null) => Object::new(),
            Some(Value::Object(requests)) => requests,
            Some(_) => return Err(malformed("the input that it wants is no object")),
        };
        if requests.is_empty() && state.is_none() {
            return Err(malformed("it wants input without saying which"));
        }
        if requests.len() > MOST_REQUESTS {
            return Err(malformed("it wants too much input at once"));
        }
        let requests = requests.into_iter().map(|(key, request)| read_request(declared, key, request));
        Ok(Self { requests: requests.collect::<Result<_, _>>()?, state })
    }
}

fn read_request(declared: &Value, key: String, request: Value) -> Result<Request, CallError> {
    let Value::Object(mut request) = request else {
        return Err(malformed("a request for input is no object"));
    };
    let Some(Value::String(method)) = request.remove("method") else {
        return Err(malformed("a request for input has no method"));
    };
    let params = match request.remove("params") {
        None | Some(Value::Null) => None,
        Some(params @ Value::Object(_)) => Some(params),
        Some(_) => return Err(malformed("the parameters of a request for input are no object")),
    };
    // What the client did not declare it may not be asked for.
    let kind = ServerMethod::parse(&method);
    let lacks = kind.lacks(declared, params.as_ref().unwrap_or(&Value::Null));
    if kind.capability().is_some() && lacks.is_none() { Ok((key, method, params)) } else { Err(CallError::NotOffered) }
}

/// Has all requests answered, at the same time; one that fails ends the others.
async fn gather(shared: &Arc<Shared>, caller: Option<CallerId>, requests: Vec<Request>) -> Result<Value, CallError> {
    let order: Vec<String> = requests.iter().map(|(key, ..)| key.clone()).collect();
    let mut answering = JoinSet::new();
    for (index, (key, method, params)) in requests.into_iter().enumerate() {
        let shared = Arc::clone(shared);
        answering.spawn(async move {
            let is_form = ServerMethod::parse(&method) == ServerMethod::Elicit;
            match shared.peer().request_of(caller, method, params, Some(key)).await {
                Ok(answer) => Ok((index, answer)),
                Err(error) if error.code() == code::INVALID_PARAMS => Err(CallError::NotOffered),
                // A person who gave no answer is an answer, too.
                Err(_) if is_form => Ok((index, object! { "action" => "cancel" }.into())),
                Err(error) => Err(CallError::NotGiven(error.code())),
            }
        });
    }
    let mut answers: Vec<Option<Value>> = vec![None; order.len()];
    while let Some(answered) = answering.join_next().await {
        // A task that broke answered nothing.
        let (index, answer) = answered.map_err(|_| CallError::NotGiven(code::INTERNAL_ERROR))??;
        if let Some(place) = answers.get_mut(index) {
            *place = Some(answer);
        }
    }
    let answers = order.into_iter().zip(answers).filter_map(|(key, answer)| Some((key, answer?)));
    let mut responses = Object::new();
    answers.for_each(|(key, answer)| drop(responses.insert(key, answer)));
    Ok(responses.into())
}

//! The port's answer in production: [`Upstream`].

mod adapter;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_config::{Authentication, ChatEndpoint, OAuthSettings, ServerOptions};
use portcullis_gates::{Call, Cleared, Environment, Launching};
use portcullis_model::json::{Object, Value};
use portcullis_model::{ServerName, object};
use portcullis_supervisor::PrepareError;
use portcullis_supervisor::sandbox::{Confinement, Sandbox};
use rmcp::model::{ConstString as _, SubscribeRequestMethod, UnsubscribeRequestMethod};

use adapter::{PeerAdapter, Progress, Waiting};

use super::link::{Boxed, Caller};
use super::sandbox;
use super::server::Server;
use super::tasks::TaskForm;
use super::{Answer, Greeting, LaunchError, Launcher, Link, LinkError, LoginTrouble, Pages, ServerPeer};
use crate::approver::shown;
use crate::chat::{ChatBook, ChatLink};
use crate::jsonrpc::code;
use crate::method::{Listable, Verb};
use crate::transport::http::{HttpFailure, HttpSetupError};
use crate::transport::stdio::{SpawnError, StderrSink};
use crate::upstream::{
    CallError, CallOptions, CallerId, CloseReason, ConnectError, ConnectFailure, ConnectOptions, Eras, Incomplete,
    ListMethod, LoginOptions, Upstream,
};

/// Makes the place where lines of a server's standard error are kept.
pub type StderrLog = Arc<dyn Fn(&ServerName) -> Option<Arc<dyn StderrSink>> + Send + Sync>;

/// A server's last words are shown up to this many lines.
const LAST_WORDS: usize = 5;

/// Connects servers by [`Upstream`].
pub(crate) struct Connector {
    /// How the supervisor of a stdio server is started; this very program where nothing is said.
    pub(crate) supervisor: Option<portcullis_supervisor::Launcher>,
    pub(crate) stderr_log: Option<StderrLog>,
    /// What is known of the eras of servers.
    pub(crate) eras: Arc<Eras>,
    /// The folder with the tokens of logins.
    pub(crate) token_folder: Option<PathBuf>,
    /// What agents behind chat endpoints were given to do.
    pub(crate) chats: ChatBook,
    /// Where servers in a sandbox have a home of their own.
    pub(crate) sandboxes: Option<PathBuf>,
    /// Folders that no sandbox opens.
    pub(crate) protected: Vec<PathBuf>,
}

impl Connector {
    fn login(&self, options: &ServerOptions) -> Option<LoginOptions> {
        match (&options.authentication, &self.token_folder) {
            (Authentication::OAuth(settings), Some(folder)) => {
                Some(LoginOptions { settings: OAuthSettings::clone(settings), folder: folder.clone() })
            }
            (Authentication::OAuth(_) | Authentication::Headers, _) => None,
        }
    }
}

impl Launcher for Connector {
    fn launch(
        &self,
        launching: Cleared<Launching>,
        environment: Option<Cleared<Environment>>,
        options: &ServerOptions,
        capabilities: Value,
        peer: Arc<ServerPeer>,
    ) -> Boxed<'_, Result<Arc<dyn Link>, LaunchError>> {
        if let Some(endpoint) = &options.chat {
            let linked = self.agent(&launching, endpoint, options.timeout, &peer);
            return Box::pin(std::future::ready(linked));
        }
        let sandbox = options.sandbox.as_ref().filter(|_| environment.is_some());
        let sandbox = sandbox.map(|wanted| self.sandbox(wanted, &launching.get().entry.name)).transpose();
        let sandbox = match sandbox {
            Ok(sandbox) => sandbox,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let options = ConnectOptions {
            sandbox,
            capabilities,
            connect_timeout: options.connect_timeout,
            call_timeout: options.timeout,
            protocol: options.protocol,
            tls: options.tls.clone(),
            client_identity: options.client_identity.clone(),
            login: self.login(options),
            eras: Arc::clone(&self.eras),
            launcher: self.supervisor.clone(),
            log: self.stderr_log.as_ref().and_then(|log| log(&launching.get().entry.name)),
            ..ConnectOptions::default()
        };
        Box::pin(async move {
            let progress = Arc::new(Progress::default());
            let server = Arc::clone(&peer.server);
            let adapter = Arc::new(PeerAdapter { peer, progress: Arc::clone(&progress) });
            let upstream =
                Upstream::connect(launching, environment, options, adapter).await.map_err(|error| describe(&error))?;
            let greeting = greeting(&upstream);
            Ok(Arc::new(UpstreamLink { upstream, greeting, progress, server }) as Arc<dyn Link>)
        })
    }
}

impl Connector {
    /// Returns an agent as a server of the principal whose fleet wants it. The entry passed its gate as an endpoint.
    fn agent(
        &self,
        launching: &Cleared<Launching>,
        endpoint: &ChatEndpoint,
        timeout: Duration,
        peer: &ServerPeer,
    ) -> Result<Arc<dyn Link>, LaunchError> {
        let failed = |code, detail: String| LaunchError { code, detail, retry: false };
        let principal = peer.principal().ok_or_else(|| failed("stopped", "the gateway is stopping".to_owned()))?;
        let link = ChatLink::new(&launching.get().entry.name, principal, endpoint, timeout, &self.chats);
        link.map(|link| Arc::new(link) as Arc<dyn Link>).map_err(|error| failed("not-an-endpoint", one_chain(&error)))
    }

    /// Returns the sandbox of a server, with a home that is there.
    fn sandbox(&self, wanted: &portcullis_config::Sandbox, server: &ServerName) -> Result<Sandbox, LaunchError> {
        let failed = |detail: String| LaunchError { code: "sandbox", detail, retry: false };
        let Some(folder) = &self.sandboxes else {
            return Err(failed("this gateway has no folder for what servers in a sandbox write".to_owned()));
        };
        sandbox::prepare(wanted, folder, server, &self.protected)
            .map_err(|error| failed(format!("the server's own folder cannot be made: {error}")))
    }
}

fn greeting(upstream: &Upstream) -> Greeting {
    let hello = upstream.hello();
    let text = |key: &str| hello.server_info().and_then(|info| info.get(key)).and_then(Value::as_str);
    Greeting {
        revision: hello.protocol_version.clone(),
        implementation: text("name").map(|name| format!("{name} {}", text("version").unwrap_or_default())),
        capabilities: hello.capabilities().cloned().unwrap_or_else(|| Object::new().into()),
        instructions: hello.instructions().map(str::to_owned),
    }
}

fn one_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Writes the causes and the server's last words into one line for the operator.
fn describe(error: &ConnectError) -> LaunchError {
    let mut detail = one_chain(&error.failure);
    if let ConnectFailure::Refused(error) = &error.failure {
        detail = format!("{detail}: {}", shown(error.message(), 200));
    }
    if let ConnectFailure::Handshake(CallError::Http(HttpFailure::Unauthorized { status: 401, challenge: Some(_) })) =
        &error.failure
    {
        detail =
            format!("{detail}; where it takes OAuth, write `auth: oauth` into its entry and run `portcullis login`");
    }
    let skipped = error.stderr.len().saturating_sub(LAST_WORDS);
    let words: Vec<String> = error.stderr.iter().skip(skipped).map(|line| shown(line, 200)).collect();
    if !words.is_empty() {
        detail = format!("{detail}; it last wrote: {}", words.join(" | "));
    }
    let (code, retry) = match &error.failure {
        ConnectFailure::Spawn(SpawnError::Prepare(PrepareError::Sandbox(_))) => ("sandbox", false),
        ConnectFailure::Spawn(error) => ("not-startable", !is_lasting(error)),
        ConnectFailure::Timeout(_) => ("connect-timeout", true),
        ConnectFailure::Version(_) => ("protocol-version", false),
        ConnectFailure::Unsupported(_) => ("unsupported", false),
        ConnectFailure::Http(
            HttpSetupError::File { .. } | HttpSetupError::Pem { .. } | HttpSetupError::Encrypted { .. },
        ) => ("certificate-file", false),
        ConnectFailure::Http(_) => ("not-an-endpoint", false),
        ConnectFailure::Launcher(_) => ("no-supervisor", false),
        ConnectFailure::Handshake(error) => (error.code(), true),
        ConnectFailure::Refused(_) => ("handshake-refused", true),
    };
    LaunchError { code, detail, retry }
}

/// Returns true where there is no such program, or what is to be started can never be: another try changes nothing. Where
/// the system refused something it may just be short of it.
fn is_lasting(error: &SpawnError) -> bool {
    matches!(error, SpawnError::Prepare(PrepareError::Lookup(_) | PrepareError::Unfit | PrepareError::Sandbox(_)))
}

struct UpstreamLink {
    upstream: Arc<Upstream>,
    greeting: Greeting,
    progress: Arc<Progress>,
    /// Its options may change while the connection lasts.
    server: Arc<Server>,
}

impl Link for UpstreamLink {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn confinement(&self) -> Option<&Confinement> {
        self.upstream.confinement()
    }

    fn call<'a>(&'a self, call: &'a Cleared<Call>, verb: Verb, caller: Caller) -> Boxed<'a, Result<Answer, LinkError>> {
        Box::pin(async move {
            // What a connection that is closed already would have been given was given to nobody.
            match self.upstream.closed() {
                None => {}
                Some(CloseReason::SessionExpired) => return Err(LinkError::Expired),
                Some(reason) => return Err(LinkError::Gone { detail: reason.to_string(), sent: false }),
            }
            let takes_task = match verb {
                Verb::MayBecomeTask => self.greeting.tasks().is_some_and(TaskForm::is_extension),
                Verb::AsTask | Verb::ThroughTask => self.greeting.tasks().is_some_and(|form| !form.is_extension()),
                Verb::Plain | Verb::Subscribe | Verb::Unsubscribe => false,
            };
            let method = match verb {
                Verb::Plain | Verb::MayBecomeTask | Verb::AsTask | Verb::ThroughTask => None,
                Verb::Subscribe => Some(SubscribeRequestMethod::VALUE),
                Verb::Unsubscribe => Some(UnsubscribeRequestMethod::VALUE),
            };
            if let Some(method) = method {
                let params = object! { "uri" => call.get().name.as_str() };
                return self.upstream.request(method, Some(&params.into())).await.map_err(translate);
            }
            let limit = self.server.options().timeout;
            let Caller { session, call: running, capabilities, progress } = caller;
            let caller = Some(CallerId { session, call: running });
            let options =
                CallOptions { timeout: Some(limit), takes_task, caller, capabilities, ..CallOptions::default() };
            let Some(on_progress) = progress else {
                return self.upstream.call(call, options).await.map_err(translate);
            };
            let number = self.progress.next.fetch_add(1, Ordering::Relaxed);
            self.progress.waiting().insert(number, on_progress);
            let _waiting = Waiting(&self.progress, number);
            let options = CallOptions { progress_token: Some(number.into()), ..options };
            self.upstream.call(call, options).await.map_err(translate)
        })
    }

    fn list(&self, listable: Listable) -> Boxed<'_, Result<Pages, LinkError>> {
        let method = match listable {
            Listable::Tools => ListMethod::Tools,
            Listable::Prompts => ListMethod::Prompts,
            Listable::Resources => ListMethod::Resources,
            Listable::Templates => ListMethod::ResourceTemplates,
        };
        Box::pin(async move {
            let listing = self.upstream.list(method).await.map_err(translate)?;
            let excluded = listing
                .excluded
                .iter()
                .map(|excluded| format!("the tool `{}` is left out: {}", shown(&excluded.name, 64), excluded.reason));
            let incomplete = listing.incomplete.filter(|incomplete| !lacks_templates(method, incomplete));
            let reasons: Vec<String> =
                incomplete.map(|incomplete| incomplete.to_string()).into_iter().chain(excluded).collect();
            let incomplete = (!reasons.is_empty()).then(|| reasons.join("; "));
            Ok(Pages { items: listing.items, incomplete, ttl_ms: listing.ttl_ms })
        })
    }

    fn listen_for_task(&self, own_id: &str, listens: bool) {
        self.upstream.listen_for_task(own_id, listens);
    }

    fn ask(&self, method: &'static str, params: Value) -> Boxed<'_, Result<Answer, LinkError>> {
        Box::pin(async move { self.upstream.request(method, Some(&params)).await.map_err(translate) })
    }

    fn ask_for(&self, method: &'static str, params: Value, limit: Duration) -> Boxed<'_, Result<Answer, LinkError>> {
        let options = CallOptions { timeout: Some(limit), ..CallOptions::default() };
        Box::pin(async move { self.upstream.request_with(method, Some(&params), options).await.map_err(translate) })
    }

    fn tell(&self, method: &'static str) -> Boxed<'_, ()> {
        Box::pin(async move {
            // Where the connection is gone nobody is there to be told.
            let _ = self.upstream.notify(method, None).await;
        })
    }

    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(async move { self.upstream.shutdown().await })
    }
}

/// Returns true where a server has resources and does not know templates of them, as many do: nothing is missing.
fn lacks_templates(method: ListMethod, incomplete: &Incomplete) -> bool {
    method == ListMethod::ResourceTemplates
        && matches!(incomplete, Incomplete::Refused(error) if error.code() == code::METHOD_NOT_FOUND)
}

fn translate(error: CallError) -> LinkError {
    match error {
        CallError::Timeout(limit) => LinkError::TimedOut { limit },
        CallError::Closed(reason) => LinkError::Gone { detail: reason.to_string(), sent: true },
        CallError::Busy(most) => LinkError::Busy { most },
        CallError::Gated => LinkError::Gone { detail: error.to_string(), sent: false },
        CallError::Http(HttpFailure::SessionExpired) => LinkError::Expired,
        CallError::Http(HttpFailure::NoLogin { .. }) => LinkError::Login(LoginTrouble::Missing),
        CallError::Http(HttpFailure::LoginUnusable(_)) => LinkError::Login(LoginTrouble::NotNow),
        CallError::Http(HttpFailure::LoginTooNarrow(_)) => LinkError::Login(LoginTrouble::TooNarrow),
        CallError::Http(failure) => {
            let sent = !matches!(failure, HttpFailure::Unreachable(_));
            LinkError::Gone { detail: failure.to_string(), sent }
        }
        CallError::Malformed(reason) => LinkError::Malformed { detail: reason.describe() },
        CallError::NotOffered | CallError::NotGiven(_) | CallError::Rounds(_) => {
            LinkError::NotAnswered { detail: error.to_string() }
        }
        CallError::Unattributed | CallError::Cancelled => LinkError::Malformed { detail: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use portcullis_supervisor::{LookupError, PrepareError};

    use super::*;

    #[test]
    fn a_program_that_does_not_exist_is_not_tried_again_and_a_refusal_of_the_system_is() {
        let missing = LookupError::NotFound { command: "nothing".to_owned(), searched: "/bin".to_owned() };
        assert!(is_lasting(&SpawnError::Prepare(PrepareError::Lookup(missing))));
        assert!(is_lasting(&SpawnError::Prepare(PrepareError::Unfit)));
        let refused = || std::io::Error::from(std::io::ErrorKind::WouldBlock);
        assert!(!is_lasting(&SpawnError::Supervisor(refused())));
        assert!(!is_lasting(&SpawnError::Prepare(PrepareError::System(refused()))));
    }
}

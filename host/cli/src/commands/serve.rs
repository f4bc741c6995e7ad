//! `portcullis run` and `portcullis wrap`: one client on the standard streams.

use std::io::IsTerminal as _;

use portcullis_config::{Config, Level};
use portcullis_mcp::{serve_stdio_with, standard_streams};
use portcullis_store::Home;

use crate::arguments::{ConfigFile, Run, View, Wrap};
use crate::failure::{OrExit as _, one_line};
use crate::gateway::{Clients, Composition, runtime_for};
use crate::settings::Settings;
use crate::telemetry::{self, Manner};
use crate::{Exit, Failure};

/// Serves all servers of the config.
pub(crate) fn run(settings: &Settings, arguments: &Run) -> Result<Exit, Failure> {
    let config = usable_config(settings, &arguments.config)?;
    serve(settings, &config, Vec::new(), Clients::One, one_client(arguments.view))
}

/// Reads the config. It has to have a server that can be run, or nothing wrong with it.
pub(super) fn usable_config(settings: &Settings, file: &ConfigFile) -> Result<Config, Failure> {
    let (path, config) = settings.read_config(file)?;
    if config.servers.is_empty() && config.has_errors() {
        let first = config.diagnostics.iter().find(|diagnostic| diagnostic.level == Level::Error);
        let first = first.map(ToString::to_string).unwrap_or_default();
        let first = first.lines().next().unwrap_or_default().to_owned();
        let hint = format!("`portcullis check --config {}` shows all that is wrong", path.display());
        return Err(Failure::new(Exit::Config, format!("no server of the config can be run: {first}")).hint(hint));
    }
    Ok(config)
}

/// Serves one server. Its client's `env` stands in the environment of this process, beside much that is none of the
/// server's business: what it is to get has to be named.
pub(crate) fn wrap(settings: &Settings, arguments: &Wrap) -> Result<Exit, Failure> {
    let Some((command, rest)) = arguments.command.split_first() else {
        return Err(Failure::new(Exit::Usage, "no command to wrap").hint("write it after `--`"));
    };
    serve(settings, &Config::for_wrap(command, rest), arguments.pass.clone(), Clients::One, one_client(arguments.view))
}

/// Returns what serves one client on the standard streams.
fn one_client(view: View) -> impl AsyncFnOnce(&Composition, &Home, &mut Ended) -> Result<(), Failure> {
    async move |composition, _home, ended| {
        composition.note_front("standard streams");
        let (input, output) = standard_streams();
        tokio::select! {
            served = serve_stdio_with(composition.gateway.clone(), view.schemas.into(), input, output) => {
                served.or_exit(Exit::Gateway, "serving the client")
            }
            () = ended.told() => Ok(()),
        }
    }
}

/// Puts a gateway together, has `front` serve it, and takes it apart.
pub(super) fn serve<F>(
    settings: &Settings,
    config: &Config,
    tagged: Vec<String>,
    clients: Clients,
    front: F,
) -> Result<Exit, Failure>
where
    F: AsyncFnOnce(&Composition, &Home, &mut Ended) -> Result<(), Failure>,
{
    let home = settings.open_home()?;
    telemetry::start(Manner::Serving, settings.log.as_deref(), Some(&home))?;
    report(config);
    let runtime = runtime_for(clients)?;
    let served = runtime.block_on(async {
        // Where a terminal is closed, that is the end; anywhere else the signal is how a service is told to look at its
        // config again.
        let mut ended = Ended::new(config.source.is_none() || std::io::stdin().is_terminal())?;
        let mut composition = Composition::start(&home, config, tagged)?;
        composition.watch_config(&home, config);
        composition.hear_operators(&home, config)?;
        let served = front(&composition, &home, &mut ended).await;
        tokio::select! {
            () = composition.shut_down() => {}
            // A second signal means now. What still runs is ended by the supervisors once this process is gone.
            signal = ended.signal() => tracing::warn!(signal, "ending without waiting for the servers"),
        }
        served
    });
    // A thread may sit in a read of standard input that never returns, or in a compile.
    runtime.shutdown_background();
    served.map(|()| Exit::Success)
}

/// Logs what is wrong with the config. The servers that are not concerned run all the same.
pub(crate) fn report(config: &Config) {
    for diagnostic in &config.diagnostics {
        let text = one_line(&diagnostic.to_string().replace('\n', "; "));
        match diagnostic.level {
            Level::Error => tracing::error!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
            Level::Note => tracing::info!("{text}"),
        }
    }
    if !config.left_out.is_empty() {
        tracing::error!(
            servers = one_line(&config.left_out.join(", ")),
            "servers are left out: their config has errors"
        );
    }
}

/// The signals that end a gateway.
pub(super) struct Ended {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Ended {
    /// Waits for a signal, and says so.
    pub(super) async fn told(&mut self) {
        let signal = self.signal().await;
        tracing::info!(signal, "ending");
    }
}

#[cfg(unix)]
impl Ended {
    /// Listens for them; for that of a closed terminal only where it is the end.
    fn new(hangup: bool) -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).or_exit(Exit::Gateway, "listening for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: if hangup { Some(listen(SignalKind::hangup())?) } else { None },
        })
    }

    async fn signal(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hangup => "SIGHUP",
        }
    }
}

#[cfg(not(unix))]
impl Ended {
    fn new(_hangup: bool) -> Result<Self, Failure> {
        Ok(Self {})
    }

    async fn signal(&mut self) -> &'static str {
        let _ = tokio::signal::ctrl_c().await;
        "ctrl-c"
    }
}

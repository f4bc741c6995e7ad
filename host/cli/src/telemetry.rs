//! Logs: to standard error for whoever started us, and to a file in the home folder. Never to standard output, which
//! belongs to the protocol.

use std::io;

use portcullis_store::Home;
use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::OrExit as _;
use crate::log_file::LogFile;
use crate::{Exit, Failure};

/// Each decision that lets something pass is in the journal already; writing it to two logs as well would cost every call
/// more than the policies do. `--log portcullis::decision=info` shows them.
const SERVING: &str = "info,portcullis::decision=warn";

/// A command that prints a report speaks through it; what became of a server stands there.
const REPORTING: &str = "error,portcullis::alarm=warn,portcullis::policies=warn";

/// What a command is like, as far as its logs are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It serves a client for long.
    Serving,
    /// It prints a report and ends.
    Reporting,
}

/// Starts logging. `filter` is what the user asked for.
pub(crate) fn start(manner: Manner, filter: Option<&str>, home: Option<&Home>) -> Result<(), Failure> {
    let default = match manner {
        Manner::Serving => SERVING,
        Manner::Reporting => REPORTING,
    };
    let stderr = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::NONE)
        .with_filter(parse(filter.unwrap_or(default))?);
    let file = match home.filter(|_| manner == Manner::Serving) {
        Some(home) => {
            let folder = home.folder("logs").or_exit(Exit::State, "opening the folder for logs")?;
            let file = LogFile::open(&folder.join("portcullis.log")).or_exit(Exit::State, "opening the log file")?;
            let layer = tracing_subscriber::fmt::layer().with_writer(file).with_ansi(false);
            Some(layer.with_filter(parse(filter.unwrap_or(SERVING))?))
        }
        None => None,
    };
    // Fails only where a program that embeds us logs in its own way, which is as good.
    let _already = tracing_subscriber::registry().with(stderr).with(file).try_init();
    Ok(())
}

fn parse(filter: &str) -> Result<EnvFilter, Failure> {
    let parsed: Result<EnvFilter, ParseError> = EnvFilter::builder().parse(filter);
    parsed
        .or_exit(Exit::Usage, "reading the log filter")
        .map_err(|failure| failure.hint("write a level (`debug`) or targets with levels (`info,portcullis_mcp=debug`)"))
}

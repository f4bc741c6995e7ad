//! The gateway as the client of one server, against servers that misbehave.
//!
//! This program is its own cast: it plays the servers and the supervisor, besides running the tests.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test without the usual harness, which lints would spare"
)]

mod answers;
mod eras;
mod http;
mod http_eras;
mod http_server;
mod leaks;
mod lifecycle;
mod lists;
mod requests;
mod rounds;
mod server;
mod sse;
mod sse_server;
mod stateless_http;
mod stateless_server;
mod subscriptions;
mod support;
mod tasks;
mod tls;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|role| role.to_str()) {
        Some("supervise") => return portcullis_supervisor::run(arguments),
        Some("leaks") => return leaks::main(),
        Some("server") => {
            let mode = arguments.next().unwrap().into_string().unwrap();
            let is_stateless = stateless_server::MODES.contains(&mode.as_str());
            return if is_stateless { stateless_server::main(&mode) } else { server::main(&mode) };
        }
        _ => {}
    }
    let trials: Vec<Trial> = [
        answers::trials(),
        eras::trials(),
        http::trials(),
        http_eras::trials(),
        leaks::trials(),
        lifecycle::trials(),
        lists::trials(),
        requests::trials(),
        rounds::trials(),
        sse::trials(),
        subscriptions::trials(),
        tasks::trials(),
        tls::trials(),
        tasks::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

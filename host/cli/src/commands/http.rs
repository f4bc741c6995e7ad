//! `portcullis serve`: any number of clients over HTTP.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use portcullis_mcp::{HttpOptions, serve_http};
use portcullis_store::Home;
use tokio::net::TcpListener;

use super::serve::{Ended, serve as serve_by, usable_config};
use super::token;
use crate::arguments::Serve;
use crate::failure::OrExit as _;
use crate::gateway::Composition;
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Serves all servers of the config.
pub(crate) fn serve(settings: &Settings, arguments: &Serve) -> Result<Exit, Failure> {
    let address = arguments.address;
    if !address.ip().is_loopback() {
        let text = format!("{address} can be reached from other machines");
        let hint = "a bearer token alone is no protection there, and full authentication is not there yet: listen on \
                    127.0.0.1, and reach it from elsewhere by a tunnel that authenticates, such as SSH";
        return Err(Failure::new(Exit::Usage, text).hint(hint));
    }
    let config = usable_config(settings, &arguments.config)?;
    let without_token = arguments.without_token;
    serve_by(settings, &config, Vec::new(), async |composition: &Composition, home: &Home, ended: &mut Ended| {
        let token = if without_token { None } else { Some(token::of(home)?) };
        let listening = TcpListener::bind(address).await;
        let listener = listening
            .or_exit(Exit::Gateway, format!("listening on {address}"))
            .map_err(|failure| failure.hint("name another with `--address`, such as 127.0.0.1:0 for any free port"))?;
        let address = listener.local_addr().or_exit(Exit::Gateway, "listening")?;
        announce(address, without_token).or_exit(Exit::Internal, "writing to standard output")?;
        let options = HttpOptions { token, ..HttpOptions::default() };
        let gateway = composition.gateway().clone();
        serve_http(gateway, listener, options, ended.told()).await.or_exit(Exit::Gateway, "serving clients")
    })
}

/// Says where clients connect to, and how.
fn announce(address: SocketAddr, without_token: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "http://{address}/mcp for all servers, http://{address}/mcp/NAME for one")?;
    if without_token {
        writeln!(out, "WITHOUT A TOKEN: every process of this machine can use these servers. Only for tests.")?;
        tracing::warn!("serving without a token: every process of this machine can use these servers");
    } else {
        writeln!(
            out,
            "clients send the header `Authorization: Bearer TOKEN`; `portcullis token show` prints the token"
        )?;
    }
    out.flush()
}

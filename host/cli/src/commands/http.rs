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
        composition.note_front(format!("http://{address}/mcp"));
        announce(address, without_token);
        let options = HttpOptions { token, ..HttpOptions::default() };
        let gateway = composition.gateway().clone();
        serve_http(gateway, listener, options, ended.told()).await.or_exit(Exit::Gateway, "serving clients")
    })
}

/// Says where clients connect to, and how. Whoever started the program may read no further than the address, or not at
/// all: that is no reason to stop serving.
fn announce(address: SocketAddr, without_token: bool) {
    let how = if without_token {
        tracing::warn!("serving without a token: every process of this machine can use these servers");
        "WITHOUT A TOKEN: every process of this machine can use these servers. Only for tests."
    } else {
        "clients send the header `Authorization: Bearer TOKEN`; `portcullis token show` prints the token"
    };
    // In one write, so that a reader that goes away after the first line has got all of it.
    let text = format!("http://{address}/mcp for all servers, http://{address}/mcp/NAME for one\n{how}\n");
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        tracing::warn!(%error, %address, "nobody reads where this gateway listens");
    }
}

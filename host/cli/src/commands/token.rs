//! `portcullis token`: what every client of `portcullis serve` has to show.

use std::io::{self, Write as _};

use portcullis_mcp::BearerToken;
use portcullis_store::Home;

use crate::failure::OrExit as _;
use crate::settings::Settings;
use crate::{Exit, Failure};

/// The file of the home folder that the token is made of.
const KEY: &str = "serve.key";

/// Returns the token of this installation, making one where there is none.
pub(super) fn of(home: &Home) -> Result<BearerToken, Failure> {
    let key = home.key(KEY).or_exit(Exit::State, "reading the token of clients")?;
    Ok(BearerToken::from_key(&key))
}

/// Prints the token, and nothing else.
pub(crate) fn show(settings: &Settings) -> Result<Exit, Failure> {
    let token = of(&settings.open_home()?)?;
    writeln!(io::stdout(), "{}", token.reveal()).or_exit(Exit::Internal, "writing to standard output")?;
    Ok(Exit::Success)
}

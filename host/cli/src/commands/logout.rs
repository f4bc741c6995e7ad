//! `portcullis logout`: the tokens for a server are forgotten.

use portcullis_oauth::{GrantFile, LoggedOut, log_out};

use super::login::Target;
use super::token::say;
use crate::arguments::login::Logout;
use crate::failure::{OrExit as _, one_line};
use crate::gateway::{TOKENS, runtime};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Forgets the login at a server.
pub(crate) fn run(settings: &Settings, arguments: &Logout) -> Result<Exit, Failure> {
    let target = Target::find(settings, &arguments.config, &arguments.name)?;
    let home = settings.open_home()?;
    let folder = home.folder(TOKENS).or_exit(Exit::State, "opening the folder for tokens")?;
    let file = GrantFile::of(&folder, target.server.name());
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let web = target.web().await?;
        log_out(&file, &web).await.or_exit(Exit::State, "forgetting the tokens")
    });
    let name = one_line(&arguments.name);
    match outcome? {
        LoggedOut::Nobody => {
            say(&format!("nobody is logged in at `{name}`"));
            return Ok(Exit::Failed);
        }
        LoggedOut::Ended => say(&format!("logged out of `{name}`: the tokens are gone, and the server ended them")),
        LoggedOut::Forgotten => say(&format!(
            "logged out of `{name}`: the tokens are gone here; the server was not told, where they count until they end"
        )),
    }
    Ok(Exit::Success)
}

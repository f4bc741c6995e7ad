//! `portcullis login` and `portcullis reauth`: tokens for a server that wants OAuth.

mod consent;
mod prove;
mod target;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portcullis_mcp::status::ServerStatus;
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_oauth::{Consent, GrantFile, Login, LoginError};

use super::token::say;
use crate::arguments::login::{Login as Wanted, Reauth, Way};
use crate::failure::{OrExit as _, one_line};
use crate::gateway::{Composition, StartOptions, TOKENS, runtime};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure};

pub(super) use target::Target;

/// So often the operator is asked in one login: once, and once more where the server wants more than it said at first.
const MOST_ROUNDS: u32 = 2;

/// How the names of folders with tokens begin that are not proven yet.
const STAGING: &str = ".new-";

/// No login takes so long.
const LEFT_OVER: Duration = Duration::from_hours(1);

/// Logs in at one server.
pub(crate) fn login(settings: &Settings, arguments: &Wanted) -> Result<Exit, Failure> {
    let target = Target::find(settings, &arguments.way.config, &arguments.name)?;
    let done = one(settings, &target, &arguments.way)?;
    report::print(&done, arguments.way.format)?;
    Ok(Exit::Success)
}

/// Logs in anew at one server or at all that are logged in at.
pub(crate) fn reauth(settings: &Settings, arguments: &Reauth) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let folder = home.folder(TOKENS).or_exit(Exit::State, "opening the folder for tokens")?;
    let targets = if let Some(name) = &arguments.name {
        vec![Target::find(settings, &arguments.way.config, name)?]
    } else {
        let mut targets = Target::all(settings, &arguments.way.config)?;
        targets.retain(|target| GrantFile::of(&folder, target.server.name()).exists());
        targets
    };
    let (mut good, total) = (0_usize, targets.len());
    for target in &targets {
        match one(settings, target, &arguments.way) {
            Ok(done) => {
                good += 1;
                report::print(&done, arguments.way.format)?;
            }
            // The others are no worse for it.
            Err(failure) => say(&format!("{}: {failure}", one_line(target.server.name().as_str()))),
        }
    }
    say(&format!("{good} of {} done", count(total, "login")));
    Ok(if good == total { Exit::Success } else { Exit::Failed })
}

/// A login that is done.
struct Done {
    server: String,
    issuer: String,
    consent: Consent,
    tools: usize,
}

fn one(settings: &Settings, target: &Target, way: &Way) -> Result<Done, Failure> {
    let home = settings.open_home()?;
    let folder = home.folder(TOKENS).or_exit(Exit::State, "opening the folder for tokens")?;
    clear_left_over(&folder);
    // New tokens stand here until they are proven. The folder goes with this value.
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(&folder);
    let staging = staging.or_exit(Exit::State, "making a folder for new tokens")?;
    let name = target.server.name();
    let (held, new) = (GrantFile::of(&folder, name), GrantFile::of(staging.path(), name));
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let mut asked = held.clone();
        let mut round = 1;
        loop {
            let start = StartOptions { token_folder: Some(staging.path().to_owned()), ..StartOptions::default() };
            let composition = Composition::start_with(&home, &target.config, start)?;
            let outcome = run(&composition, target, way, &asked, &new).await;
            composition.shut_down().await;
            match outcome {
                Ok(Outcome::Proven(done)) if round == MOST_ROUNDS || !new.is_too_narrow() => {
                    // Renewed meanwhile, perhaps: what stands there now counts.
                    held.adopt(&new).await.or_exit(Exit::State, "keeping the new tokens")?;
                    return Ok(*done);
                }
                // Even to be listed the server wants more than it said at first.
                Ok(_) if round < MOST_ROUNDS && new.is_too_narrow() => {
                    say("the server wants more than it said at first: once more");
                    asked.clone_from(&new);
                    round += 1;
                }
                Ok(Outcome::Unproven(status)) => return Err(unproven(name.as_str(), status.as_deref(), &held)),
                Ok(Outcome::Proven(_)) => return Err(unproven(name.as_str(), None, &held)),
                Err(failure) => return Err(failure),
            }
        }
    });
    runtime.shutdown_background();
    done
}

/// Removes what logins left behind that were killed: tokens that nobody proved.
fn clear_left_over(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_staging = entry.file_name().to_str().is_some_and(|name| name.starts_with(STAGING));
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|made| made.elapsed().ok());
        if is_staging && age.is_some_and(|age| age > LEFT_OVER) {
            let _there_still = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What became of new tokens.
enum Outcome {
    Proven(Box<Done>),
    Unproven(Option<Box<ServerStatus>>),
}

async fn run(
    composition: &Composition,
    target: &Target,
    way: &Way,
    held: &GrantFile,
    new: &GrantFile,
) -> Result<Outcome, Failure> {
    let name = target.server.name();
    report::progress(report::LOADING, way.format);
    composition.ready().await;
    // What no policy lets near is not asked either.
    composition.screen(Arc::clone(&target.server.entry)).await?;
    let web = target.web().await?;
    let begun =
        Login::begin(&target.url, &target.settings, web, held).await.map_err(|error| failed(name.as_str(), error))?;
    let issuer = begun.issuer().to_owned();
    let consent = consent::get(begun, target, way).await.map_err(|failure| match failure {
        consent::NoConsent::Login(error) => failed(name.as_str(), error),
        consent::NoConsent::Other(failure) => failure,
    })?;
    consent.write(new).or_exit(Exit::State, "keeping the new tokens")?;
    let status = prove::prove(composition, target, way.format).await;
    Ok(match status {
        Some(status) if status.phase.is_up() => {
            let tools = status.counts.tools_listed;
            Outcome::Proven(Box::new(Done { server: name.to_string(), issuer, consent, tools }))
        }
        status => Outcome::Unproven(status.map(Box::new)),
    })
}

fn failed(name: &str, error: LoginError) -> Failure {
    // What the authorization server says besides is for whoever reads this, and for nobody's log.
    if let Some(description) = consent::description(&error) {
        say(&format!("the authorization server says: {}", one_line(description)));
    }
    let failed =
        Err::<(), _>(error).or_exit(Exit::Failed, format!("no token came for `{name}`, and what was there stays"));
    match failed {
        Err(failure) => failure,
        Ok(()) => Failure::new(Exit::Internal, "a login failed without a reason"),
    }
}

fn unproven(name: &str, status: Option<&ServerStatus>, held: &GrantFile) -> Failure {
    let reason =
        status.and_then(|status| status.reason.clone()).unwrap_or_else(|| "it did not answer in time".to_owned());
    let kept = if held.exists() { "the former login stays" } else { "nothing is kept" };
    Failure::new(Exit::Failed, format!("`{name}` gave a token, but could not be used with it, so {kept}: {reason}"))
        .hint("log in again once the server is well")
}

impl Report for Done {
    fn to_value(&self) -> Value {
        let mut object = object! {
            "server" => self.server.as_str(),
            "issuer" => self.issuer.as_str(),
            "scopes" => self.consent.scopes().iter().map(|scope| Value::from(scope.as_str())).collect::<Vec<_>>(),
            "renews" => self.consent.renews(),
            "tools" => self.tools as u64,
        };
        if let Some(seconds) = self.consent.lasts() {
            object.insert("lasts", seconds);
        }
        object.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}: logged in at {}", one_line(&self.server), one_line(&self.issuer))?;
        if !self.consent.scopes().is_empty() {
            write!(out, " for {}", one_line(&self.consent.scopes().join(" ")))?;
        }
        let end = match (self.consent.renews(), self.consent.lasts()) {
            (true, _) => ", renewed by itself".to_owned(),
            (false, Some(seconds)) => format!(", for {} min and not renewed", seconds / 60),
            (false, None) => ", not renewed".to_owned(),
        };
        writeln!(out, "{end}; {} listed", count(self.tools, "tool"))
    }
}

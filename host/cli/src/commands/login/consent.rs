//! Getting the operator's consent: in a browser here, in one elsewhere, or by a code that is typed.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use portcullis_config::LoginFlow;
use portcullis_oauth::{Browser, Consent, Login, LoginError, Loopback, TokenError};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::super::token::say;
use super::Target;
use crate::arguments::login::Way;
use crate::failure::{OrExit as _, one_line};
use crate::{Exit, Failure};

/// Longest line that is pasted: an address with a code, a state and an issuer.
const LONGEST_LINE: usize = 32 * 1024;

/// There is no consent.
pub(super) enum NoConsent {
    Login(LoginError),
    Other(Failure),
}

impl From<LoginError> for NoConsent {
    fn from(error: LoginError) -> Self {
        Self::Login(error)
    }
}

impl From<Failure> for NoConsent {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

/// Returns what an authorization server says besides its code: foreign text.
pub(super) fn description(error: &LoginError) -> Option<&str> {
    if let LoginError::Denied { description, .. }
    | LoginError::Token(TokenError::Refused { description, .. })
    | LoginError::Registration { source: TokenError::Refused { description, .. }, .. } = error
    {
        description.as_deref()
    } else {
        None
    }
}

/// Gets the consent in the way that was chosen.
pub(super) async fn get(login: Login, target: &Target, way: &Way) -> Result<Consent, NoConsent> {
    if !login.scopes().is_empty() {
        say(&format!("asking {} for {}", one_line(login.issuer()), one_line(&login.scopes().join(" "))));
    }
    if way.device || (target.settings.flow == LoginFlow::Device && !way.no_browser) {
        return by_device(login, way).await;
    }
    if way.no_browser && login.has_device_flow() {
        say("hint: this server also takes a code that is typed in any browser: `--device`");
    }
    let loopback = Loopback::open(&target.settings).await;
    let loopback = loopback
        .or_exit(Exit::Failed, "listening for the browser")
        .map_err(|failure| failure.hint("set another `redirect_port` under `oauth`, or 0 for any"))?;
    let redirect = match (&loopback, &target.settings.redirect_uri) {
        (Some(loopback), _) => loopback.redirect().to_owned(),
        (None, Some(address)) => address.clone(),
        (None, None) => return Err(Failure::new(Exit::Internal, "the browser has no address to come back to").into()),
    };
    let browser = login.browser(&redirect).await?;
    show_page(browser.page(), way, "open this page and consent")?;
    let can_open = !way.no_browser && open(browser.page());
    // Where no browser could be opened, a person may paste; without a person, only what was asked for is read.
    let reads = way.no_browser || (!can_open && io::stdin().is_terminal());
    if reads {
        say("then paste here the address that the browser ends at, even if it shows an error");
    }
    let waiting = wait(&browser, loopback, reads);
    timeout(target.settings.timeout, waiting).await.unwrap_or(Err(LoginError::TooLate)).map_err(NoConsent::Login)
}

async fn by_device(login: Login, way: &Way) -> Result<Consent, NoConsent> {
    let device = login.device().await?;
    say(&format!("the code is {}", one_line(device.user_code())));
    show_page(
        device.page_with_code().unwrap_or_else(|| device.page()),
        way,
        "open this page anywhere and type the code",
    )?;
    Ok(device.finish().await?)
}

/// Prints the page: alone on standard output, or, where a document is wanted there, beside it.
fn show_page(page: &str, way: &Way, what: &str) -> Result<(), Failure> {
    say(what);
    if way.format.json {
        say(&one_line(page));
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", one_line(page)).and_then(|()| out.flush()).or_exit(Exit::Internal, "writing to standard output")
}

/// Waits for the browser to come back, or for what is pasted, whichever is good first.
async fn wait(browser: &Browser, mut loopback: Option<Loopback>, reads: bool) -> Result<Consent, LoginError> {
    loop {
        let came_back = tokio::select! {
            Some(came_back) = next_of(&mut loopback) => came_back,
            Some(line) = next_line(reads) => line,
            else => return Err(LoginError::TooLate),
        };
        match browser.finish(&came_back).await {
            // Anybody on this machine can send the browser's page something, and a paste may go wrong.
            Err(error @ (LoginError::State | LoginError::NoCode)) => say(&format!("{error}; still waiting")),
            outcome => return outcome,
        }
    }
}

async fn next_of(loopback: &mut Option<Loopback>) -> Option<String> {
    match loopback {
        Some(loopback) => loopback.came_back().await,
        None => None,
    }
}

async fn next_line(reads: bool) -> Option<String> {
    if reads { pasted_lines().lock().await.recv().await } else { None }
}

/// Returns the lines of standard input. One thread reads them for the whole command, since a read that waits cannot be taken
/// back: a second one would only get what the first one leaves.
fn pasted_lines() -> &'static Mutex<mpsc::Receiver<String>> {
    static LINES: OnceLock<Mutex<mpsc::Receiver<String>>> = OnceLock::new();
    LINES.get_or_init(|| {
        let (sender, lines) = mpsc::channel(4);
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                let is_fit = (1..=LONGEST_LINE).contains(&line.trim().len());
                if is_fit && sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Mutex::new(lines)
    })
}

/// Opens a page in the browser of this machine. Returns false where there is nobody in front of it, or no browser.
fn open(page: &str) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_remote = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
    let has_screen = cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    if is_remote || !has_screen {
        return false;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // Not waited for: some stay until the browser is closed.
    Command::new(program).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

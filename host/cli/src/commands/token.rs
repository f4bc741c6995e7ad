//! `portcullis token`: what clients of `portcullis serve` have to show.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_door::{NamedToken, TokenFile, TokenWish};
use portcullis_model::json::Value;
use portcullis_model::{Secret, ServerName, object};
use portcullis_store::Home;

use super::grants::rough;
use crate::arguments::{self, Format};
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// The file of the home folder that the token of the installation is made of.
const KEY: &str = "serve.key";

/// The folder of the home with the state of the front door.
const FOLDER: &str = "door";

/// Runs one of the commands.
pub(crate) fn run(settings: &Settings, arguments: &arguments::Token) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    match arguments {
        arguments::Token::Show => show(&home),
        arguments::Token::Mint(mint) => self::mint(&home, mint),
        arguments::Token::List(format) => list(&home, *format),
        arguments::Token::Revoke(revoke) => {
            file(&home)?.revoke(&revoke.names).or_exit(Exit::Failed, "revoking")?;
            say(&format!("{} revoked", count(revoke.names.len(), "token")));
            Ok(Exit::Success)
        }
    }
}

/// Returns the token of this installation, making one where there is none.
pub(super) fn of(home: &Home) -> Result<Secret, Failure> {
    let key = home.key(KEY).or_exit(Exit::State, "reading the token of clients")?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(key)))
}

/// Returns the folder of the front door's state.
pub(super) fn folder(home: &Home) -> Result<std::path::PathBuf, Failure> {
    home.folder(FOLDER).or_exit(Exit::State, "opening the folder of the front door")
}

fn file(home: &Home) -> Result<TokenFile, Failure> {
    Ok(TokenFile::in_folder(&folder(home)?))
}

/// Returns what time it is, in seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Says something to whoever reads: on standard error, so that what is printed can be piped on.
pub(super) fn say(text: &str) {
    let _unwritable = writeln!(io::stderr(), "{text}");
}

/// Prints the token, and nothing else.
fn show(home: &Home) -> Result<Exit, Failure> {
    writeln!(io::stdout(), "{}", of(home)?.expose()).or_exit(Exit::Internal, "writing to standard output")?;
    Ok(Exit::Success)
}

fn mint(home: &Home, arguments: &arguments::Mint) -> Result<Exit, Failure> {
    let servers = arguments.servers.iter().map(|name| ServerName::parse(name));
    let servers: Vec<ServerName> =
        servers.collect::<Result<_, _>>().or_exit(Exit::Usage, "reading the name of a server")?;
    let wish = TokenWish {
        name: arguments.name.clone(),
        servers: Some(servers).filter(|servers| !servers.is_empty()),
        sources: arguments.sources.clone(),
        seconds: arguments.days.map(|days| days * 86_400),
    };
    let secret = file(home)?.mint(wish, now()).or_exit(Exit::Failed, "making the token")?;
    if arguments.format.json {
        let value = object! { "name" => arguments.name.as_str(), "token" => secret.expose() };
        writeln!(io::stdout(), "{}", Value::from(value).to_json())
            .or_exit(Exit::Internal, "writing to standard output")?;
    } else {
        writeln!(io::stdout(), "{}", secret.expose()).or_exit(Exit::Internal, "writing to standard output")?;
        say("shown this once; clients send it as `Authorization: Bearer TOKEN`");
    }
    Ok(Exit::Success)
}

fn list(home: &Home, format: Format) -> Result<Exit, Failure> {
    let tokens = file(home)?.list().or_exit(Exit::State, "reading the tokens")?;
    report::print(&Tokens(tokens), format)?;
    Ok(Exit::Success)
}

struct Tokens(Vec<NamedToken>);

impl Report for Tokens {
    fn to_value(&self) -> Value {
        let value = |token: &NamedToken| {
            let mut object = object! { "name" => token.name.as_str(), "made" => token.made };
            if let Some(servers) = &token.servers {
                object.insert("servers", servers.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>());
            }
            if !token.sources.is_empty() {
                let sources = token.sources.iter().map(|range| Value::from(range.to_string()));
                object.insert("sources", sources.collect::<Vec<_>>());
            }
            if let Some(expires) = token.expires {
                object.insert("expires", expires);
            }
            Value::from(object)
        };
        object! { "tokens" => self.0.iter().map(value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}, besides that of this installation", count(self.0.len(), "token"))?;
        for token in &self.0 {
            write!(out, "  {}", token.name)?;
            match &token.servers {
                Some(servers) => {
                    let names: Vec<_> = servers.iter().map(|name| one_line(name.as_str())).collect();
                    write!(out, ": {}", names.join(", "))?;
                }
                None => write!(out, ": all servers")?,
            }
            if !token.sources.is_empty() {
                let ranges: Vec<_> = token.sources.iter().map(ToString::to_string).collect();
                write!(out, ", from {}", ranges.join(", "))?;
            }
            match token.expires {
                Some(expires) if expires <= now() => write!(out, ", expired")?,
                Some(expires) => write!(out, ", {} more", rough(Duration::from_secs(expires - now())))?,
                None => write!(out, ", for ever")?,
            }
            writeln!(out, ", {} old", rough(Duration::from_secs(now().saturating_sub(token.made))))?;
        }
        Ok(())
    }
}

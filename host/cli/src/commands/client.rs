//! `portcullis client`: OAuth clients of `portcullis serve`.

use std::io::{self, Write};

use portcullis_door::{ClientFile, RegisteredClient};
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::Home;

use super::token::{folder, now, say};
use crate::arguments;
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Runs one of the commands.
pub(crate) fn run(settings: &Settings, arguments: &arguments::Client) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    match arguments {
        arguments::Client::Add(add) => self::add(&home, add),
        arguments::Client::List(format) => {
            let clients = file(&home)?.list().or_exit(Exit::State, "reading the clients")?;
            report::print(&Clients(clients), *format)?;
            Ok(Exit::Success)
        }
        arguments::Client::Remove(remove) => {
            let file = file(&home)?;
            for id in &remove.ids {
                file.remove(id).or_exit(Exit::Failed, "removing")?;
            }
            say(&format!("{} removed", count(remove.ids.len(), "client")));
            Ok(Exit::Success)
        }
        #[cfg(unix)]
        arguments::Client::Consents(format) => super::approve::consents(&home, *format),
        #[cfg(unix)]
        arguments::Client::Revoke(revoke) => super::approve::revoke(&home, &revoke.names),
    }
}

fn file(home: &Home) -> Result<ClientFile, Failure> {
    Ok(ClientFile::in_folder(&folder(home)?))
}

fn add(home: &Home, arguments: &arguments::AddClient) -> Result<Exit, Failure> {
    let mut redirects = arguments.redirects.clone();
    if let Some(preset) = arguments.preset {
        redirects.extend(preset.redirects().iter().map(|&redirect| redirect.to_owned()));
    }
    let added = file(home)?.add(&arguments.name, &redirects, arguments.confidential, now());
    let (client, secret) = added.or_exit(Exit::Failed, "registering the client")?;
    if arguments.format.json {
        let mut value = to_value(&client);
        if let (Some(secret), Some(object)) = (&secret, value.as_object_mut()) {
            object.insert("client_secret", secret.expose());
        }
        writeln!(io::stdout(), "{}", value.to_json()).or_exit(Exit::Internal, "writing to standard output")?;
        return Ok(Exit::Success);
    }
    let mut text = format!("client_id={}\n", client.id);
    if let Some(secret) = &secret {
        text.push_str("client_secret=");
        text.push_str(secret.expose());
        text.push('\n');
        say("the secret is shown this once");
    }
    io::stdout().write_all(text.as_bytes()).or_exit(Exit::Internal, "writing to standard output")?;
    Ok(Exit::Success)
}

fn to_value(client: &RegisteredClient) -> Value {
    let redirects = client.redirects.iter().map(|redirect| Value::from(redirect.as_str()));
    object! {
        "client_id" => client.id.as_str(),
        "name" => client.name.as_str(),
        "redirect_uris" => redirects.collect::<Vec<_>>(),
        "confidential" => client.has_secret,
        "made" => client.made,
    }
    .into()
}

struct Clients(Vec<RegisteredClient>);

impl Report for Clients {
    fn to_value(&self) -> Value {
        object! { "clients" => self.0.iter().map(to_value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} registered", count(self.0.len(), "client"))?;
        for client in &self.0 {
            let kind = if client.has_secret { ", with a secret" } else { "" };
            writeln!(out, "  {} {}{kind}", client.id, one_line(&client.name))?;
            for redirect in &client.redirects {
                writeln!(out, "    {}", redirect.as_str())?;
            }
        }
        Ok(())
    }
}

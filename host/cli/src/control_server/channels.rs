//! Ways to an operator.

use std::process::Stdio;
use std::time::Duration;

use portcullis_config::Channel;
use portcullis_mcp::transport::http::deliver;
use portcullis_model::json::Value;
use portcullis_model::{Secret, object};

use super::Control;
use super::reading::{Arguments, Problem};

/// A message has so many characters at most.
const LONGEST: usize = 4_000;
/// A channel takes a message within so long.
const LIMIT: Duration = Duration::from_secs(20);

/// Lists the channels: names and kinds. A URL may hold a secret, so none is told.
pub(super) fn list(control: &Control) -> Value {
    let channels = control.section.channels.iter().map(|(name, channel)| {
        let kind = match channel {
            Channel::Webhook { .. } => "webhook",
            Channel::Desktop => "desktop",
        };
        Value::from(object! { "channel" => name.as_str(), "kind" => kind })
    });
    object! { "channels" => channels.collect::<Vec<_>>() }.into()
}

/// Sends a message.
pub(super) async fn send(control: &Control, arguments: &Arguments) -> Result<Value, Problem> {
    let (name, message) = (arguments.needed("channel")?, arguments.needed("message")?);
    if message.chars().count() > LONGEST {
        return Err(Problem::new(format!("a message has {LONGEST} characters at most")));
    }
    let channel = control.section.channels.get(name);
    match channel.ok_or_else(|| Problem::new("there is no such channel; see `channels_list`"))? {
        Channel::Webhook { url, token } => webhook(url, token.as_ref(), message).await?,
        Channel::Desktop => desktop(message).await?,
    }
    Ok(object! { "sent" => true, "channel" => name }.into())
}

async fn webhook(url: &str, token: Option<&Secret>, message: &str) -> Result<(), Problem> {
    let bearer = |token: &Secret| ("Authorization".to_owned(), Secret::new(format!("Bearer {}", token.expose())));
    let headers: Vec<_> = token.map(bearer).into_iter().collect();
    let body = Value::from(object! { "from" => "portcullis", "text" => message });
    let sent = deliver(url, &headers, body.to_json(), LIMIT).await;
    sent.map_err(|error| Problem::of("sending the message", &error))
}

/// Shows a notification by `notify-send`, which desktops of freedesktop.org have.
async fn desktop(message: &str) -> Result<(), Problem> {
    // Markup is a matter of the notification's body: what reads as such is written out.
    let escaped = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut notifying = tokio::process::Command::new("notify-send");
    notifying.args(["--app-name=Portcullis", "--", "Portcullis: a message of the assistant"]).arg(escaped);
    notifying.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let shown = tokio::time::timeout(LIMIT, notifying.status()).await;
    match shown {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(_)) | Err(_) => Err(Problem::new("no desktop took the notification")),
        Ok(Err(error)) => Err(Problem::of("showing the notification", &error)),
    }
}

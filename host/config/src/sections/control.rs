//! `control`: what an operator's assistant may do by the control server.

use std::collections::BTreeMap;

use portcullis_model::Secret;

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, wrong_type};
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::tree::Node;

/// The tools of the control server, each with its switch as it stands where the config says nothing: reading on, writing off.
pub const CONTROL_TOOLS: [(&str, bool); 10] = [
    ("sessions_list", true),
    ("session_get", true),
    ("messages_read", true),
    ("attachments_fetch", true),
    ("events_poll", true),
    ("events_wait", true),
    ("channels_list", true),
    ("approvals_open", true),
    ("message_send", false),
    ("approval_respond", false),
];

/// A way to an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A JSON text is posted to a URL.
    Webhook {
        /// The URL.
        url: String,
        /// What goes along as `Authorization: Bearer …`.
        token: Option<Secret>,
    },
    /// A notification on the desktop that the control server runs on.
    Desktop,
}

/// What an operator's assistant may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSection {
    /// The tools that are switched on.
    pub tools: BTreeMap<String, bool>,
    /// Ways to operators, by their names.
    pub channels: BTreeMap<String, Channel>,
}

impl Default for ControlSection {
    fn default() -> Self {
        let tools = CONTROL_TOOLS.iter().map(|(name, is_on)| ((*name).to_owned(), *is_on));
        Self { tools: tools.collect(), channels: BTreeMap::new() }
    }
}

impl ControlSection {
    /// Returns true where a tool is switched on.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.get(tool).copied().unwrap_or_default()
    }
}

/// Reads `control`.
pub(crate) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> ControlSection {
    let mut section = ControlSection::default();
    let mut fields = Fields::new(node, path.clone(), sink);
    if let Some(node) = fields.get("tools") {
        tools(node, &fields.path.key("tools"), &mut section, fields.sink);
    }
    if let Some(node) = fields.get("channels") {
        channels(node, &fields.path.key("channels"), &mut section, fields.sink);
    }
    fields.finish();
    section
}

fn tools(node: &Node, path: &KeyPath, section: &mut ControlSection, sink: &mut Sink) {
    let mut switches = Fields::new(node, path.clone(), sink);
    for (name, _) in CONTROL_TOOLS {
        if let Some(is_on) = switches.boolish(name) {
            section.tools.insert(name.to_owned(), is_on);
        }
    }
    switches.finish();
}

fn channels(node: &Node, path: &KeyPath, section: &mut ControlSection, sink: &mut Sink) {
    let Some(members) = node.members() else {
        sink.push(path, node.place, wrong_type("a map of names and channels", node));
        return;
    };
    for member in members {
        let path = path.key(&member.key);
        let mut fields = Fields::new(&member.value, path.clone(), sink);
        let (webhook, desktop) = (fields.text("webhook"), fields.boolish("desktop"));
        let token = fields.text("token").map(Secret::new);
        let channel = match (webhook, desktop) {
            (Some(url), None | Some(false)) => match unsafe_url(&url) {
                None => Some(Channel::Webhook { url, token }),
                Some(problem) => {
                    let place = fields.place_of("webhook");
                    fields.report("webhook", place, Mistake::error(DiagnosticKind::BadValue, problem));
                    None
                }
            },
            (None, Some(true)) => Some(Channel::Desktop),
            (_, _) => {
                let mistake =
                    Mistake::error(DiagnosticKind::MissingKey, "a channel is either a webhook or the desktop")
                        .hint("write `webhook: https://…` or `desktop: true`");
                fields.sink.push(&path, member.place, mistake);
                None
            }
        };
        fields.finish();
        if let Some(channel) = channel {
            section.channels.insert(member.key.clone(), channel);
        }
    }
}

/// Returns what is wrong with the URL of a webhook.
fn unsafe_url(text: &str) -> Option<&'static str> {
    let Ok(url) = url::Url::parse(text.trim()) else {
        return Some("this is no URL");
    };
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let is_own = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" if !host.is_empty() => None,
        "http" if is_own => None,
        "http" => Some("what is sent would go there in clear: http is for this machine alone"),
        _ => Some("only http and https URLs can be reached"),
    }
}

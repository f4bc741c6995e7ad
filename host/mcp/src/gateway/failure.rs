//! What a client is told where a server gave no answer, in the host's own words.

use super::server::Server;
use super::{LinkError, LoginTrouble};
use crate::downstream::{Reply, own_code};

/// Returns the reply to a call that got no answer.
pub(crate) fn failure(server: &Server, error: &LinkError, as_tool: bool) -> Reply {
    tracing::warn!(server = %server.name(), error = %error, "a call got no answer");
    let name = crate::approver::shown(server.name().as_str(), 64);
    let (text, number, code) = match error {
        LinkError::TimedOut { limit } => (
            format!(
                "The MCP server `{name}` did not answer within {} s. The outcome is uncertain: it may still have done what was \
                 asked, so check before trying again.",
                limit.as_secs()
            ),
            own_code::TIMED_OUT,
            "timed-out",
        ),
        LinkError::Busy { most } => (
            format!(
                "{most} requests are waiting for the MCP server `{name}` already, so this one was not sent. Nothing was \
                 done. Do not retry at once."
            ),
            own_code::TOO_MANY,
            "server-busy",
        ),
        LinkError::Gone { sent: false, .. } | LinkError::Expired => (
            format!("The MCP server `{name}` ended before the call reached it. Nothing was done."),
            own_code::SERVER_UNAVAILABLE,
            "server-gone",
        ),
        LinkError::Gone { .. } => (
            format!(
                "The MCP server `{name}` ended during the call. The outcome is uncertain: it may have done what \
                 was asked, so check before trying again."
            ),
            own_code::SERVER_UNAVAILABLE,
            "server-gone",
        ),
        LinkError::Login(trouble) => {
            let next = match trouble {
                LoginTrouble::Missing => format!("Ask the user to run `portcullis login {name}`, then try again."),
                LoginTrouble::NotNow => "Do not retry at once; tell the user if it stays so.".to_owned(),
                LoginTrouble::TooNarrow => format!(
                    "Ask the user to run `portcullis login {name}`, which asks for what is missing, then try again."
                ),
            };
            (
                format!("The MCP server `{name}` did nothing: {}. {next}", trouble.describe()),
                own_code::SERVER_UNAVAILABLE,
                "login-needed",
            )
        }
        LinkError::NotAnswered { detail } => (
            format!("The MCP server `{name}` did not finish the call: {detail}."),
            own_code::REFUSED,
            "input-not-given",
        ),
        LinkError::Malformed { detail } => (
            format!("The MCP server `{name}` gave an answer that cannot be used, so it was dropped: {detail}."),
            own_code::MALFORMED,
            "malformed-answer",
        ),
    };
    Reply::failed(&text, number, code, as_tool)
}

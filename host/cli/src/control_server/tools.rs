//! The ten tools: names, arguments and what they are for.

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

/// One tool.
struct Tool {
    name: &'static str,
    description: &'static str,
    /// Each argument with its type and what it is; those that are needed have a `!` behind their name.
    arguments: &'static [(&'static str, &'static str, &'static str)],
    names: &'static [&'static str],
    writes: bool,
}

const SESSION: (&str, &str, &str) = ("session", "string", "The session's id, as `sessions_list` gives it.");
const LIMIT: (&str, &str, &str) = ("limit", "integer", "So many at most, 1 to 200.");
const CURSOR: (&str, &str, &str) =
    ("after_cursor", "integer", "Only what came after it; without one: what comes from now on.");

const TOOLS: [Tool; 10] = [
    Tool {
        name: "sessions_list",
        description: "Lists sessions of the gateways, the latest first, with what passed the gates for them.",
        arguments: &[LIMIT, ("search", "string", "Only sessions whose id, client or servers hold this text.")],
        names: &["limit", "search"],
        writes: false,
    },
    Tool {
        name: "session_get",
        description: "Tells of one session: what passed the gates, by gate and outcome, and its client and labels while it lasts.",
        arguments: &[("session!", SESSION.1, SESSION.2)],
        names: &["session"],
        writes: false,
    },
    Tool {
        name: "messages_read",
        description: "Reads the latest passages of a session, oldest first. Their texts are there only where the journal keeps \
            payloads, cut to 2,000 characters each.",
        arguments: &[("session!", SESSION.1, SESSION.2), LIMIT],
        names: &["session", "limit"],
        writes: false,
    },
    Tool {
        name: "attachments_fetch",
        description: "Describes the binaries of one passage: type, length and digest. The binaries themselves are not kept.",
        arguments: &[
            ("session!", SESSION.1, SESSION.2),
            ("message!", "integer", "The passage's id, as `messages_read` gives it."),
        ],
        names: &["session", "message"],
        writes: false,
    },
    Tool {
        name: "events_poll",
        description: "Returns passages as they were recorded, oldest first, and the cursor behind the last one.",
        arguments: &[CURSOR, SESSION, LIMIT],
        names: &["after_cursor", "session", "limit"],
        writes: false,
    },
    Tool {
        name: "events_wait",
        description: "Waits for the next passage and returns it, or null with the reason `timeout`.",
        arguments: &[CURSOR, SESSION, ("timeout_ms", "integer", "0 to 300000; 30000 where nothing is said.")],
        names: &["after_cursor", "session", "timeout_ms"],
        writes: false,
    },
    Tool {
        name: "channels_list",
        description: "Lists the ways to an operator that the config names.",
        arguments: &[],
        names: &[],
        writes: false,
    },
    Tool {
        name: "approvals_open",
        description: "Lists the questions that wait for an answer in running gateways, and whether a client may answer them.",
        arguments: &[],
        names: &[],
        writes: false,
    },
    Tool {
        name: "message_send",
        description: "Sends a message to an operator, over a channel of the config.",
        arguments: &[
            ("channel!", "string", "The channel's name, as `channels_list` gives it."),
            ("message!", "string", "The text, at most 4,000 characters."),
        ],
        names: &["channel", "message"],
        writes: true,
    },
    Tool {
        name: "approval_respond",
        description: "Answers a question as a client: never one that needs an operator, never for always, and never one of the \
            session that asks through the same client.",
        arguments: &[
            ("id!", "string", "The question's id, as `approvals_open` gives it."),
            ("decision!", "string", "`allow-once`, `allow-session` or `deny`."),
        ],
        names: &["id", "decision"],
        writes: true,
    },
];

/// Returns the names of a tool's arguments.
pub(super) fn names_of(tool: &str) -> &'static [&'static str] {
    TOOLS.iter().find(|known| known.name == tool).map_or(&[], |known| known.names)
}

/// Returns all tools by their names, as they are listed.
pub(super) fn listed() -> Vec<(&'static str, Value)> {
    TOOLS.iter().map(|tool| (tool.name, to_value(tool))).collect()
}

fn to_value(tool: &Tool) -> Value {
    let mut properties = Object::new();
    let mut required: Vec<Value> = Vec::new();
    for (name, kind, description) in tool.arguments {
        let plain = name.trim_end_matches('!');
        if plain != *name {
            required.push(plain.into());
        }
        properties.insert(plain, object! { "type" => *kind, "description" => *description });
    }
    let mut schema = object! { "type" => "object", "properties" => properties, "additionalProperties" => false };
    if !required.is_empty() {
        schema.insert("required", required);
    }
    let annotations = object! {
        "readOnlyHint" => !tool.writes, "destructiveHint" => tool.writes, "openWorldHint" => tool.name == "message_send",
    };
    object! {
        "name" => tool.name,
        "description" => tool.description,
        "inputSchema" => schema,
        "annotations" => annotations,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use portcullis_config::CONTROL_TOOLS;

    use super::*;

    #[test]
    fn each_tool_has_a_switch_and_those_that_write_are_off() {
        let mut known: Vec<(&str, bool)> = TOOLS.iter().map(|tool| (tool.name, !tool.writes)).collect();
        let mut switches = CONTROL_TOOLS.to_vec();
        known.sort_unstable();
        switches.sort_unstable();
        assert_eq!(known, switches);
    }

    #[test]
    fn what_is_listed_of_arguments_is_what_is_taken() {
        for tool in &TOOLS {
            let listed: Vec<&str> = tool.arguments.iter().map(|(name, ..)| name.trim_end_matches('!')).collect();
            assert_eq!(listed, tool.names, "{}", tool.name);
        }
    }
}

//! What a tool does with data.
//!
//! Asked in this order, and the first that knows the tool is believed: the operator, the pack's list of known servers, the
//! words of the tool's name. What a server says of its own tools only tightens: `openWorldHint: true` without
//! `readOnlyHint: true` makes a tool outward, but no hint makes one harmless.

use portcullis_sdk::{Annotations, glob};

use crate::pack::Tables;
use crate::settings::Tools;
use crate::words::words;

/// What a tool does with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// Its results may hold what strangers wrote.
    pub(crate) untrusted: bool,
    /// Its results hold what is not open to everybody.
    pub(crate) private: bool,
    /// It sends something to others.
    pub(crate) outward: bool,
    /// Who said so.
    pub(crate) said_by: SaidBy,
}

/// Who says what a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SaidBy {
    /// The settings.
    Operator,
    /// The list of known servers.
    List,
    /// The words of its name.
    #[default]
    Name,
}

impl Kinds {
    /// Returns the kinds of a tool.
    pub(crate) fn of(server: &str, tool: &str, tools: &Tools, tables: &Tables) -> Self {
        Self::by_operator(server, tool, tools)
            .or_else(|| Self::by_server(server, tool, tables))
            .unwrap_or_else(|| Self::by_name(tool, tables))
    }

    fn by_operator(server: &str, tool: &str, tools: &Tools) -> Option<Self> {
        let kinds = Self {
            untrusted: tools.reads_untrusted.cover(server, tool),
            private: tools.reads_private.cover(server, tool),
            outward: tools.outward.cover(server, tool),
            said_by: SaidBy::Operator,
        };
        let named = kinds.untrusted || kinds.private || kinds.outward || tools.local.cover(server, tool);
        named.then_some(kinds)
    }

    fn by_server(server: &str, tool: &str, tables: &Tables) -> Option<Self> {
        let server = server.to_lowercase();
        let known = tables.servers.iter().find(|known| glob::matches(&known.server, &server))?;
        let any = |globs: &[String]| globs.iter().any(|pattern| glob::matches(pattern, tool));
        let kinds = Self {
            untrusted: any(&known.untrusted),
            private: any(&known.private),
            outward: any(&known.outward),
            said_by: SaidBy::List,
        };
        let named = kinds.untrusted || kinds.private || kinds.outward || any(&known.local);
        named.then_some(kinds)
    }

    fn by_name(tool: &str, tables: &Tables) -> Self {
        let (words, table) = (words(tool), &tables.words);
        let any = |set: &std::collections::BTreeSet<String>| words.iter().any(|word| set.contains(word));
        let verb = words.iter().find_map(|word| {
            if table.reading.contains(word) {
                Some(Verb::Reading)
            } else if table.outward.contains(word) {
                Some(Verb::Outward)
            } else if table.making.contains(word) {
                Some(Verb::Making)
            } else {
                table.local.contains(word).then_some(Verb::Local)
            }
        });
        match verb {
            // A name without a known verb says what one gets.
            None | Some(Verb::Reading) => {
                Self { untrusted: true, private: !any(&table.public), outward: false, said_by: SaidBy::Name }
            }
            Some(Verb::Outward) => Self { outward: true, ..Self::default() },
            Some(Verb::Making) => Self { outward: any(&table.shared), ..Self::default() },
            Some(Verb::Local) => Self::default(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Reading,
    Outward,
    Making,
    Local,
}

/// Returns true where the server itself says that a tool changes something beyond its own walls.
pub(crate) fn says_outward(annotations: &Annotations) -> bool {
    annotations.open_world == Some(true) && annotations.read_only == Some(false)
}

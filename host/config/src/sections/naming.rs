//! `naming`: under which names items are published.

use crate::diagnostic::DiagnosticKind;
use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::{Mistake, Sink};
use crate::tree::{Kind, Node};

/// Under which names tools and prompts are published.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Naming {
    /// `<prefix>__<server>__<name>`, or `<server>__<name>` without prefix.
    Qualified {
        /// Letters, digits and underscores.
        prefix: Option<String>,
    },
    /// The server's own names, unchanged.
    Plain,
}

impl Default for Naming {
    fn default() -> Self {
        Self::Qualified { prefix: Some("mcp".to_owned()) }
    }
}

/// Longest prefix: names have 64 characters, and most of them should tell what is called.
const LONGEST_PREFIX: usize = 16;

/// Reads `naming: none`, `naming: {prefix: …}` or `naming: {prefix: none}`.
pub(crate) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> Naming {
    if let Kind::Text { text, .. } = &node.kind
        && matches!(text.trim(), "none" | "plain")
    {
        return Naming::Plain;
    }
    let mut fields = Fields::new(node, path.clone(), sink);
    let naming = match fields.text("prefix") {
        None => Naming::default(),
        Some(prefix) if matches!(prefix.trim(), "" | "none") => Naming::Qualified { prefix: None },
        Some(prefix) => {
            let fits =
                prefix.len() <= LONGEST_PREFIX && prefix.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
            if !fits {
                let message = format!("a prefix has at most {LONGEST_PREFIX} letters, digits and underscores");
                let place = fields.place_of("prefix");
                fields.report("prefix", place, Mistake::error(DiagnosticKind::BadValue, message));
            }
            if fits { Naming::Qualified { prefix: Some(prefix) } } else { Naming::default() }
        }
    };
    fields.finish();
    naming
}

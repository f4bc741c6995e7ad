//! Reserved metadata.
//!
//! **What it does.** Removes members of `_meta` whose key has a reserved prefix: before the slash stands `mcp` or
//! `modelcontextprotocol` as one label with another label behind it.
//!
//! **Why.** The specification keeps these prefixes for itself: a server that sends them poses as the protocol.
//! `com.example.mcp/x` and the protocol's own `io.modelcontextprotocol/x` have no label behind and stay.
//!
//! **Example.** `{"_meta": {"tools.mcp.com/approved": true}}`

use portcullis_sdk::{Replacement, Segment, Severity};

use super::Declared;
use crate::report::{Found, Report};

pub(super) const RULES: &[Declared] =
    &[("reserved-meta", Severity::Medium, "Metadata under a prefix that is reserved for the protocol.")];

/// Looks at one segment.
pub(crate) fn look(index: usize, segment: &Segment, report: &mut Report<'_>) {
    if !segment.key || !in_meta(&segment.pointer) || !is_reserved(&segment.text) {
        return;
    }
    if report.settings.keep_meta.contains(&segment.text) {
        return;
    }
    let ranges = vec![(0..segment.text.len(), Replacement::Marker)];
    let message = "a reserved prefix".to_owned();
    report.remove(&Found { rule: "reserved-meta", severity: Severity::Medium, message, index, segment, ranges });
}

fn in_meta(pointer: &str) -> bool {
    pointer.rsplit('/').nth(1) == Some("_meta")
}

fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let mut labels = prefix.split('.');
    labels.by_ref().any(|label| label.eq_ignore_ascii_case("mcp") || label.eq_ignore_ascii_case("modelcontextprotocol"))
        && labels.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_reserved_where_a_label_follows_the_protocols_name() {
        for key in ["modelcontextprotocol.io/x", "tools.mcp.com/x", "MCP.dev/x", "mcp.mcp/x"] {
            assert!(is_reserved(key), "{key}");
        }
        for key in
            ["com.example.mcp/x", "io.modelcontextprotocol/related-task", "mcp", "mcp.dev", "example.com/mcp.dev", "/x"]
        {
            assert!(!is_reserved(key), "{key}");
        }
    }
}

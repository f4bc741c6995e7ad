//! What a list depends on, as digests.

use std::fmt::Write as _;

use portcullis_config::{Protocol, ServerOptions};
use portcullis_model::{Digest, Launch, Secret, ServerEntry, Trust};

/// So many hex digits of SHA-256 make a fingerprint.
const DIGITS: usize = 16;

/// Returns the fingerprint that the reference client gives an entry: of its command, arguments, URL, transport and filter,
/// as compact JSON with sorted keys and everything beyond ASCII escaped.
pub(super) fn of(entry: &ServerEntry, options: &ServerOptions) -> String {
    let (arguments, command, transport, url) = match &entry.launch {
        Launch::Stdio { command, arguments, .. } => (arguments.as_slice(), Some(command.as_str()), None, None),
        Launch::Http { url, legacy_sse, .. } => {
            (&[] as &[String], None, legacy_sse.then_some("sse"), Some(url.as_str()))
        }
    };
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        texts(&list)
    };
    let text = format!(
        r#"{{"args":{},"command":{},"tools_exclude":{},"tools_include":{},"transport":{},"url":{}}}"#,
        texts(arguments),
        text_or_null(command),
        sorted(&options.filter.exclude),
        sorted(options.filter.include.as_deref().unwrap_or_default()),
        text_or_null(transport),
        text_or_null(url),
    );
    digits(&Digest::of(text.as_bytes()))
}

/// Returns a digest of what else a list depends on: names of variables and headers, trust, protocol, folder, and what the
/// server is told of the client. No value of a variable or header is in it.
pub(super) fn rest(entry: &ServerEntry, options: &ServerOptions, capabilities: &str) -> String {
    let (names, folder) = match &entry.launch {
        Launch::Stdio { environment, working_directory, .. } => (keys(environment), working_directory.as_deref()),
        Launch::Http { headers, .. } => (keys(headers), None),
    };
    let trust = match options.trust {
        None => "unset",
        Some(Trust::Untrusted) => "untrusted",
        Some(Trust::Full) => "full",
    };
    let protocol = match options.protocol {
        Protocol::Auto => "auto",
        Protocol::Stateless => "stateless",
        Protocol::Legacy => "legacy",
    };
    let include = if options.filter.include.is_some() { "chosen" } else { "all" };
    let fixed = [trust, protocol, include, folder.unwrap_or_default(), capabilities];
    let parts = fixed.into_iter().chain(names.iter().map(String::as_str)).map(str::as_bytes);
    digits(&Digest::of_parts(parts))
}

fn keys(pairs: &[(String, Secret)]) -> Vec<String> {
    let mut keys: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
    keys.sort_unstable();
    keys
}

fn digits(digest: &Digest) -> String {
    digest.to_string().chars().take(DIGITS).collect()
}

fn texts(list: &[String]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(","))
}

fn text_or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), quoted)
}

/// Writes a JSON string in ASCII, with lower-case escapes and those of one letter where JSON has them.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='\u{7f}' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use portcullis_config::{Config, Surroundings};
    use portcullis_model::Origin;

    use super::*;

    fn both(entry: &str) -> (String, String) {
        let text = format!("mcp_servers:\n  x: {entry}\n");
        let config = Config::parse(&text, "test.yaml", Origin::ConfigFile, &Surroundings::new(|_| None));
        let server = &config.servers[0];
        (of(&server.entry, &server.options), rest(&server.entry, &server.options, "{}"))
    }

    #[test]
    fn the_fingerprint_is_the_one_that_the_reference_client_computes() {
        assert_eq!(both("{command: npx, args: [-y, xactions-mcp]}").0, "b041845356ebe668");
    }

    #[test]
    fn text_is_escaped_as_the_reference_client_does() {
        assert_eq!(quoted("a\"\\\n\u{1}é𝄞\u{7f}"), "\"a\\\"\\\\\\n\\u0001\\u00e9\\ud834\\udd1e\u{7f}\"");
    }

    #[test]
    fn what_else_a_list_depends_on_is_in_the_second_digest_only() {
        let (first, second) = both("{command: npx}");
        for other in [
            "{command: npx, env: {A: b}}",
            "{command: npx, trust: untrusted}",
            "{command: npx, protocol: legacy}",
            "{command: npx, tools: {include: []}}",
        ] {
            let (same, different) = both(other);
            assert_eq!(same, first, "{other}");
            assert_ne!(different, second, "{other}");
        }
        assert_eq!(both("{command: npx, env: {A: b}}"), both("{command: npx, env: {A: c}}"), "no value is in it");
        assert_ne!(both("{command: npx, args: [a]}").0, first);
        assert_ne!(both("{command: npx, tools: {include: [a]}}").0, first);
    }
}

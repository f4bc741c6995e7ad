//! Denies calls that write outside of the working folders.

use portcullis_sdk::call_gate::{Call, Kind};
use portcullis_sdk::{
    CallGate, ConfigureError, Description, Facts, Finding, Packs, Policy, Rights, Rule, Segment, Severity, Trust, Verdict,
};

const OUTSIDE: &str = "outside-folder";
const LEAVES: &str = "leaves-folder";
const UNCLEAR: &str = "unclear-path";

/// What the operator writes under `settings`.
#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Absolute paths of the folders that may be written to. Without any, nothing may be written.
    folders: Vec<String>,
    /// Names of arguments that are paths.
    arguments: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let usual = ["path", "paths", "file", "file_path", "filename", "directory", "folder", "destination", "target"];
        Self { folders: Vec::new(), arguments: usual.map(str::to_owned).to_vec() }
    }
}

/// The configured policy.
pub struct WorkingFolder(Settings);

impl Policy for WorkingFolder {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new("working-folder", "1.0.0", "Denies calls that write outside of the working folders.")
            .rule(Rule::new(OUTSIDE, Severity::High, "An absolute path outside of every working folder."))
            .rule(Rule::new(LEAVES, Severity::High, "A relative path that climbs out of where it starts."))
            .rule(Rule::new(UNCLEAR, Severity::High, "A path whose place cannot be told from its text."))
            .wants(Rights::DENY)
    }

    fn new(settings: Settings, _packs: &Packs) -> Result<Self, ConfigureError> {
        if settings.folders.iter().any(|folder| !folder.starts_with('/') || is_unclear(folder)) {
            return Err(ConfigureError::at("/folders", "a working folder is an absolute path"));
        }
        Ok(Self(settings))
    }
}

/// Returns the parts of a path with `.` and `..` resolved, and whether it climbs above its start.
fn parts(path: &str) -> (Vec<&str>, bool) {
    let (mut kept, mut climbed) = (Vec::new(), false);
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part != ".." {
            kept.push(part);
        } else if kept.pop().is_none() {
            climbed = true;
        }
    }
    (kept, climbed)
}

fn is_unclear(path: &str) -> bool {
    path.starts_with('~') || path.bytes().any(|byte| byte < b' ' || byte == b'$' || byte == b'\\')
}

/// Returns the name of the argument that a string belongs to: the last part of its pointer that is no index.
fn name_of(pointer: &str) -> &str {
    pointer.rsplit('/').find(|part| !part.is_empty() && !part.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("")
}

impl WorkingFolder {
    fn is_path(&self, segment: &Segment) -> bool {
        !segment.key && self.0.arguments.iter().any(|name| name == name_of(&segment.pointer))
    }

    /// Returns the rule that a path breaks, and why.
    fn broken(&self, path: &str) -> Option<(&'static str, &'static str)> {
        let unclear = Some((UNCLEAR, "where the path leads cannot be told"));
        let path = match path.strip_prefix("file:") {
            Some(rest) if !rest.starts_with("///") || path.contains('%') => return unclear,
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None => path,
        };
        if is_unclear(path) {
            return unclear;
        }
        let (kept, climbed) = parts(path);
        if !path.starts_with('/') {
            return climbed.then_some((LEAVES, "the path climbs out of where it starts"));
        }
        let below = self.0.folders.iter().any(|folder| kept.starts_with(&parts(folder).0));
        (!below).then_some((OUTSIDE, "the path lies outside of the working folders"))
    }
}

/// A server that the operator does not trust is not believed when it says that a tool only reads.
fn may_write(facts: &Facts, call: &Call) -> bool {
    let reads = call.annotations.read_only == Some(true) && facts.server_trust != Some(Trust::Untrusted);
    call.kind == Kind::Tool && !call.utility && !reads
}

impl CallGate for WorkingFolder {
    fn authorize(&self, facts: &Facts, call: &Call) -> Verdict {
        if !may_write(facts, call) {
            return Verdict::allow();
        }
        let paths = call.segments.iter().enumerate().filter(|(_, segment)| self.is_path(segment));
        let findings: Vec<_> = paths
            .filter_map(|(index, segment)| {
                let (rule, message) = self.broken(&segment.text)?;
                Some(Finding::new(rule, Severity::High, message).at(segment.whole(index)))
            })
            .collect();
        if findings.is_empty() {
            return Verdict::allow();
        }
        Verdict::deny("write-outside-folder", "the call may write outside of the working folders").with_findings(findings)
    }
}

portcullis_sdk::export!(WorkingFolder: CallGate);

//! Rules about wording: the pack, and what its matches lead to.

use portcullis_sdk::{ConfigureError, Pack, Role, Segment, Severity};
use portcullis_text::layer::Encoding;
use portcullis_text::rules::{self, Names, Rules, Scanner};

use super::find;
use crate::settings::Level;
use crate::sighting::Sighting;

/// Compiles the pack and checks that every rule reports by a declared family.
pub(crate) fn compile(pack: &Pack) -> Result<Rules, ConfigureError> {
    Rules::of_policy(&pack.parse()?, |family| find(family).is_some())
        .map_err(|error| pack.error(&error.pointer, error.reason))
}

/// Looks at the words of one segment.
pub(crate) fn look(
    index: usize,
    segment: &Segment,
    scanner: &mut Scanner<'_>,
    rules: &Rules,
    names: &Names<'_>,
    sightings: &mut Vec<Sighting>,
) {
    for hit in scanner.scan(&segment.text, names) {
        let Some((rule, info)) = rules.info(hit.rule).and_then(|info| Some((find(&info.family)?, info))) else {
            continue;
        };
        let (mut severity, mut level) = (severity(info.severity), level(hit.level));
        let mut message = info.summary.clone();
        if segment.role == Role::Instructions && rule == "prerequisite" && severity < Severity::Critical {
            // Instructions are there to say in which order a server's tools are called.
            level = level.min(Level::Flag);
        }
        if let Some(encoding) = hit.encoding {
            // Whoever encodes an instruction means to hide it: one step up.
            level = if level == Level::Ask { Level::Hide } else { Level::Ask };
            severity = severity.max(Severity::High);
            message.push_str(match encoding {
                Encoding::Base64 => " (encoded in base64)",
                Encoding::Hex => " (encoded in hexadecimal)",
                Encoding::Rot13 => " (encoded in ROT13)",
                Encoding::Percent => " (percent-encoded)",
                Encoding::Reversed => " (written backwards)",
            });
        }
        sightings.push(Sighting { rule, severity, level, message, span: segment.span(index, hit.range) });
    }
}

/// Looks at a name that was spelled out as words; the whole name is the evidence.
pub(crate) fn look_spelled(
    index: usize,
    segment: &Segment,
    words: &str,
    scanner: &mut Scanner<'_>,
    rules: &Rules,
    sightings: &mut Vec<Sighting>,
) {
    for hit in scanner.scan(words, &Names::default()) {
        let Some((rule, info)) = rules.info(hit.rule).and_then(|info| Some((find(&info.family)?, info))) else {
            continue;
        };
        // A parameter that is named after the reading of such a file is an order in disguise.
        let ordered =
            rule == "sensitive-path" && ["read", "content", "send", "include"].iter().any(|verb| words.contains(verb));
        sightings.push(Sighting {
            rule,
            severity: severity(info.severity),
            level: if ordered { Level::Ask } else { level(hit.level) },
            message: info.summary.clone(),
            span: segment.whole(index),
        });
    }
}

const fn severity(severity: rules::Severity) -> Severity {
    match severity {
        rules::Severity::Info => Severity::Info,
        rules::Severity::Low => Severity::Low,
        rules::Severity::Medium => Severity::Medium,
        rules::Severity::High => Severity::High,
        rules::Severity::Critical => Severity::Critical,
    }
}

const fn level(level: rules::Level) -> Level {
    match level {
        rules::Level::Off | rules::Level::Note => Level::Off,
        rules::Level::Flag => Level::Flag,
        rules::Level::Ask => Level::Ask,
        rules::Level::Hide => Level::Hide,
    }
}

//! The rules, and what they come to together.

mod incomplete;
mod private_outward;
mod target_from_data;
mod target_from_instruction;
mod target_from_prose;

use portcullis_sdk::call_gate::Call;
use portcullis_sdk::{ApproverClass, Echo, Facts, Finding, Question, Rule, Severity, Verdict};
use sha2::{Digest as _, Sha256};

use crate::settings::{Reaction, Settings};
use crate::sighting::Sighting;

/// So many targets are asked about one by one; an approver reads no more. The rest is one question.
const MOST_QUESTIONS: usize = 8;

pub(crate) fn declared() -> Vec<Rule> {
    vec![
        target_from_instruction::rule(),
        target_from_prose::rule(),
        target_from_data::rule(),
        private_outward::rule(),
        incomplete::rule(),
    ]
}

/// Judges an outward call, or one that fetches a URL.
pub(crate) fn judge(
    facts: &Facts,
    call: &Call,
    sighting: &Sighting<'_>,
    outward: bool,
    settings: &Settings,
) -> Verdict {
    let (named, carries) = (!sighting.from_prose.is_empty(), !sighting.private.is_empty());
    let mut verdict = Verdict::allow();
    // To follow a link of a page is what browsing is; what counts there is data in the link.
    if outward || carries {
        verdict = verdict.join(target_from_prose::judge(facts, call, sighting, outward, settings));
    }
    if outward {
        verdict = verdict.join(target_from_instruction::judge(facts, call, sighting, settings));
        verdict = verdict.join(target_from_data::judge(facts, call, sighting, settings));
    }
    verdict = verdict.join(private_outward::judge(facts, call, sighting, settings));
    if outward && facts.echoes_incomplete && !(named && carries) {
        verdict = verdict.join(incomplete::judge(facts, call, settings));
    }
    verdict
}

/// What an approver is asked, with what the answer is for.
struct Asking<'a> {
    code: &'static str,
    severity: Severity,
    text: String,
    /// What the code is bound to, so that an answer about one target says nothing about another.
    about: &'a str,
}

/// Does what the settings say about a finding. To ask takes an operator: a client may answer by itself, with the very model that
/// was talked into the call.
fn react(facts: &Facts, reaction: Reaction, finding: Finding, denial: &str, asking: Vec<Asking<'_>>) -> Verdict {
    let message = finding.message.clone();
    let verdict = match reaction {
        Reaction::Deny => Verdict::deny(denial, message),
        Reaction::Ask if facts.approver == Some(ApproverClass::Operator) && !asking.is_empty() => {
            Verdict::ask(asking.into_iter().map(question).collect())
        }
        Reaction::Ask | Reaction::Observe => Verdict::allow(),
    };
    verdict.with_finding(finding)
}

fn question(asking: Asking<'_>) -> Question {
    let code = [asking.code, "-", &digest(asking.about)].concat();
    Question::new(code, asking.text, asking.severity, ApproverClass::Operator)
}

/// Returns half a SHA-256: nobody finds a second target with the same.
fn digest(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(text.as_bytes());
    let digit = |value: u8| DIGITS.get(usize::from(value)).map_or('0', |digit| char::from(*digit));
    digest.iter().take(16).flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the argument that an echo is part of: what is asked about is the whole.
fn argument<'c>(call: &'c Call, echo: &Echo) -> &'c str {
    call.segments.get(echo.span.segment as usize).map_or("", |segment| segment.text.trim())
}

/// Returns where an echo comes from, for people.
fn source(echo: &Echo) -> String {
    ["`", &echo.tool, "` of `", &echo.server, "`"].concat()
}

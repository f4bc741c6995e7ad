//! What was seen in one item, and the verdict on it.

use portcullis_sdk::{ApproverClass, Finding, Question, Severity, Span, Verdict};

use crate::settings::{Level, Settings};

/// Findings beyond this many say nothing new about an item; the strictest are kept.
const MOST_FINDINGS: usize = 32;

/// One thing seen.
#[derive(Debug)]
pub(crate) struct Sighting {
    /// A declared rule.
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) span: Span,
}

/// Joins what was seen to one verdict: hidden if any sighting hides, else asked if any asks.
pub(crate) fn verdict(mut sightings: Vec<Sighting>, settings: &Settings) -> Verdict {
    for sighting in &mut sightings {
        sighting.level = settings.level(sighting.rule, sighting.level);
    }
    sightings.retain(|sighting| sighting.level > Level::Off);
    sightings.sort_by_key(|sighting| std::cmp::Reverse((sighting.level, sighting.severity)));
    sightings.truncate(MOST_FINDINGS);
    let decision = match sightings.first() {
        Some(worst) if worst.level == Level::Hide => Verdict::deny(worst.rule, worst.message.clone()),
        Some(_) => Verdict::ask(questions(&sightings)),
        None => return Verdict::allow(),
    };
    decision.with_findings(
        sightings
            .into_iter()
            .map(|sighting| Finding::new(sighting.rule, sighting.severity, sighting.message).at(sighting.span)),
    )
}

/// One question a rule, however often the rule was seen.
fn questions(sightings: &[Sighting]) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for sighting in sightings.iter().filter(|sighting| sighting.level == Level::Ask) {
        if questions.iter().all(|question| question.code != sighting.rule) {
            let text = sighting.message.clone();
            questions.push(Question::new(sighting.rule, text, sighting.severity, ApproverClass::Operator));
        }
    }
    questions
}

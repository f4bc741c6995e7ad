//! Why one passage was decided as it was, and what would have changed it.

use std::io::{self, Write};
use std::sync::Arc;

use portcullis_gates::{ActivePolicy, Judged};
use portcullis_model::json::Value;
use portcullis_model::{ApproverClass, Facts, Segment, Span, Trust, object};
use portcullis_store::{JournalEntry, JournalReader as _, OutcomeEntry, PolicyEntry};

use super::Recorded;
use super::again::judge_again;
use crate::arguments::journal::Explain;
use crate::commands::journal::{entry_line, entry_value, told};
use crate::failure::{OrExit as _, one_line};
use crate::gateway::runtime;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Evidence of a policy is taken away one by one up to this many.
const MOST_TRIED: usize = 16;

/// A text that a rule saw is cut to this many characters.
const LONGEST_EXCERPT: usize = 120;

/// Explains a passage.
pub(crate) fn explain(settings: &Settings, arguments: &Explain) -> Result<Exit, Failure> {
    let recorded = Recorded::open(settings, &arguments.config, arguments.format)?;
    let entry = recorded.store.entry(arguments.id).or_exit(Exit::State, "reading the journal")?;
    let Some(entry) = entry else {
        return Err(Failure::new(Exit::Failed, format!("the journal has no passage {}", arguments.id))
            .hint("`portcullis journal tail` shows the latest"));
    };
    let missing = |why: &str| {
        Failure::new(Exit::Failed, format!("passage {} cannot be judged again: {why}", entry.id)).hint(
            "`portcullis journal show` shows what was recorded; `journal: {payloads: full}` keeps what this needs",
        )
    };
    let Some(digest) = entry.payload else {
        return Err(missing("what its policies were told was not kept"));
    };
    let sealed = recorded.store.payload(&digest).or_exit(Exit::State, "reading the payload")?;
    let sealed = sealed.ok_or_else(|| missing("what its policies were told was removed since"))?;
    let rounds = recorded.key.open(&sealed).or_exit(Exit::State, "opening the payload")?;
    let policies: Vec<_> = recorded.set.policies().iter().map(Arc::clone).collect();
    let explained = runtime()?.block_on(again(entry, &rounds, &policies));
    report::print(&explained, arguments.format)?;
    Ok(Exit::Success)
}

/// A passage with what its policies say of it again.
struct Explained {
    entry: JournalEntry,
    /// What the host told them, round by round.
    told: Vec<Facts>,
    said: Vec<Said>,
}

/// What one policy says again.
struct Said {
    now: PolicyEntry,
    /// What it said then; nothing where it did not judge then.
    then: Option<OutcomeEntry>,
    /// False where its module, settings or packs are others than then.
    is_same_policy: bool,
    /// What each rule saw: rule and place with the text.
    saw: Vec<(String, String)>,
    /// What it would say otherwise: what was changed, and its answer then.
    otherwise: Vec<(String, String)>,
}

async fn again(entry: JournalEntry, rounds: &[Judged], policies: &[Arc<ActivePolicy>]) -> Explained {
    let mut said = Vec::new();
    for judged in rounds {
        let Some(position) = judged.position(&entry.name, &entry.subject) else {
            continue;
        };
        for policy in policies.iter().filter(|policy| policy.gates.iter().any(|gate| gate.as_str() == entry.gate)) {
            let Some(now) = judge_again(judged, policy).await.into_iter().nth(position) else {
                continue;
            };
            let recorded = entry.policies.iter().find(|known| known.policy == now.policy && known.round == now.round);
            let segments = judged.segments(position);
            let saw = now
                .findings
                .iter()
                .flat_map(|finding| {
                    finding.evidence.iter().map(|span| (finding.rule.clone(), excerpt(*span, segments)))
                })
                .collect();
            said.push(Said {
                then: recorded.map(|recorded| recorded.outcome.clone()),
                is_same_policy: recorded.is_none_or(|recorded| recorded.digest == policy.digest),
                saw,
                otherwise: changes(judged, position, policy, &now).await,
                now,
            });
        }
    }
    Explained { entry, told: rounds.iter().map(|judged| judged.facts.clone()).collect(), said }
}

/// Changes one thing after the other, and returns those that change the answer of a policy that objects.
async fn changes(
    judged: &Judged,
    position: usize,
    policy: &Arc<ActivePolicy>,
    now: &PolicyEntry,
) -> Vec<(String, String)> {
    if now.outcome == OutcomeEntry::Allow {
        return Vec::new();
    }
    let mut tried: Vec<(String, Judged)> = Vec::new();
    let spans = now.findings.iter().flat_map(|finding| &finding.evidence);
    for span in spans.take(MOST_TRIED) {
        let mut other = judged.clone();
        let place = excerpt(*span, judged.segments(position));
        if blank(*span, other.segments_mut(position)) {
            tried.push((format!("without {place}"), other));
        }
    }
    let mut fact = |what: &str, differs: bool, change: fn(&mut Facts)| {
        if differs {
            let mut other = judged.clone();
            change(&mut other.facts);
            tried.push((what.to_owned(), other));
        }
    };
    let facts = &judged.facts;
    fact("if the session had no labels", !facts.labels.is_empty(), |facts| facts.labels.clear());
    fact("if nothing in it echoed labelled content", !facts.echoes.is_empty(), |facts| facts.echoes.clear());
    fact("if the config trusted the server fully", facts.server_trust != Some(Trust::Full), |facts| {
        facts.server_trust = Some(Trust::Full);
    });
    fact("if an operator were attached", facts.approver != Some(ApproverClass::Operator), |facts| {
        facts.approver = Some(ApproverClass::Operator);
    });
    let mut otherwise = Vec::new();
    for (what, other) in tried {
        if let Some(answer) = judge_again(&other, policy).await.into_iter().nth(position)
            && answer.outcome != now.outcome
        {
            otherwise.push((what, told(&answer.outcome)));
        }
    }
    otherwise
}

/// Puts spaces over a span. Returns false where it points nowhere.
fn blank(span: Span, segments: &mut [Segment]) -> bool {
    let (start, end) = (span.start as usize, span.end as usize);
    let Some(segment) = segments.get_mut(span.segment as usize) else {
        return false;
    };
    if start >= end || segment.text.get(start..end).is_none() {
        return false;
    }
    segment.text.replace_range(start..end, &" ".repeat(end - start));
    true
}

fn excerpt(span: Span, segments: &[Segment]) -> String {
    let Some(segment) = segments.get(span.segment as usize) else {
        return "a place that is not there any more".to_owned();
    };
    let text = segment.text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let mut cut: String = text.chars().take(LONGEST_EXCERPT).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    let place = if segment.pointer.is_empty() { "the text" } else { segment.pointer.as_str() };
    format!("“{}” at {}", one_line(&cut), one_line(place))
}

fn trust(facts: &Facts) -> &'static str {
    match facts.server_trust {
        Some(Trust::Full) => "full",
        Some(Trust::Untrusted) => "untrusted",
        None => "not stated",
    }
}

impl Report for Explained {
    fn to_value(&self) -> Value {
        let pairs = |pairs: &[(String, String)], first: &str, second: &str| -> Vec<Value> {
            pairs.iter().map(|(a, b)| object! { first => a.as_str(), second => b.as_str() }.into()).collect()
        };
        let said = |said: &Said| -> Value {
            object! {
                "policy" => said.now.policy.as_str(),
                "round" => u64::from(said.now.round),
                "now" => told(&said.now.outcome),
                "then" => said.then.as_ref().map(told).unwrap_or_default(),
                "same_policy" => said.is_same_policy,
                "saw" => pairs(&said.saw, "rule", "text"),
                "otherwise" => pairs(&said.otherwise, "change", "answer"),
            }
            .into()
        };
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let facts = |facts: &Facts| -> Value {
            object! {
                "labels" => number(facts.labels.len()),
                "echoes" => number(facts.echoes.len()),
                "trust" => trust(facts),
                "approver" => facts.approver.map_or("nobody", ApproverClass::as_str),
                "client" => facts.client.name.as_str(),
            }
            .into()
        };
        let told_facts: Vec<Value> = self.told.iter().map(facts).collect();
        object! { "passage" => entry_value(&self.entry), "told" => told_facts, "policies" => self.said.iter().map(said).collect::<Vec<_>>() }
            .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", entry_line(&self.entry).trim_start())?;
        if let Some(facts) = self.told.first() {
            let labels: Vec<_> = facts.labels.iter().map(|label| one_line(&label.name)).collect();
            writeln!(
                out,
                "  told: trust {}, approver {}, labels [{}], {} echoed",
                trust(facts),
                facts.approver.map_or("nobody", ApproverClass::as_str),
                labels.join(", "),
                report::count(facts.echoes.len(), "text")
            )?;
        }
        for said in &self.said {
            let round = if said.now.round > 1 { format!(", round {}", said.now.round) } else { String::new() };
            write!(out, "  {}{round}: {}", one_line(&said.now.policy), told(&said.now.outcome))?;
            match &said.then {
                Some(then) if *then == said.now.outcome => {}
                Some(then) => write!(out, " (then: {})", told(then))?,
                None => write!(out, " (did not judge then)")?,
            }
            writeln!(
                out,
                "{}",
                if said.is_same_policy { "" } else { "; its module, settings or packs changed since" }
            )?;
            for (rule, text) in &said.saw {
                writeln!(out, "    {} saw {text}", one_line(rule))?;
            }
            for (change, answer) in &said.otherwise {
                writeln!(out, "    {change}: {answer}")?;
            }
            if said.now.outcome != OutcomeEntry::Allow && said.otherwise.is_empty() {
                writeln!(
                    out,
                    "    none of the changes that were tried changes this: evidence, labels, echoes, trust, approver"
                )?;
            }
        }
        Ok(())
    }
}

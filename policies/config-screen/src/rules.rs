//! The rules, and how their hits become a verdict.

mod container_escape;
mod download_and_run;
mod endpoint;
mod entry_origin;
mod entry_text;
mod hidden_payload;
mod inline_code;
mod known_indicator;
mod loader_variable;
mod malformed_entry;
mod metadata_endpoint;
mod network_program;
mod obscured_command;
mod package_lookalike;
mod package_source;
mod persistence;
mod program_location;
mod remote_program;
mod server_name;
mod shell_syntax;
mod tls_interception;
mod wide_access;

use portcullis_sdk::config_gate::Entry;
use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict};

use crate::launch::{self, Behaviour, Program};
use crate::settings::{Action, Settings};
use crate::tables::Tables;

/// What a rule looks at.
pub(crate) struct Context<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) tables: &'a Tables,
    pub(crate) settings: &'a Settings,
    pub(crate) behaviour: Behaviour,
    /// The texts of the segments in lower case, in order.
    pub(crate) lower: Vec<String>,
}

impl Context<'_> {
    /// Returns programs that run packages, and their packages.
    pub(crate) fn packages(&self) -> Vec<(&Program, String)> {
        let runners =
            self.behaviour.programs.iter().filter(|program| self.tables.programs.runners.contains(&program.name));
        runners
            .flat_map(|program| packages(&program.arguments).into_iter().map(move |package| (program, package)))
            .collect()
    }
}

/// Returns the packages that a runner is told to run: values of options that name one, and the first argument of its own.
fn packages(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let named = ["--package=", "--from=", "--with=", "--spec="].iter().find_map(|option| word.strip_prefix(option));
        if let Some(package) = named {
            found.push(package.to_owned());
        } else if matches!(word.as_str(), "--package" | "-p" | "--from" | "--with" | "--spec") {
            found.extend(words.next().cloned());
        } else if matches!(
            word.as_str(),
            "--registry" | "--index-url" | "--python" | "--directory" | "-c" | "--call" | "--index"
        ) {
            words.next();
        } else if !word.starts_with('-')
            && !matches!(word.as_str(), "run" | "exec" | "x" | "dlx" | "tool" | "install" | "i")
        {
            found.push(word.clone());
            break;
        }
    }
    found
}

/// One hit of a rule.
pub(crate) struct Hit {
    action: Action,
    message: String,
    evidence: String,
}

/// Gathers the hits of one rule.
#[derive(Default)]
pub(crate) struct Hits(Vec<Hit>);

impl Hits {
    fn add(&mut self, action: Action, message: impl Into<String>, evidence: &str) {
        /// More hits of one rule say nothing more.
        const MOST: usize = 8;
        let hit = Hit { action, message: message.into(), evidence: evidence.to_owned() };
        if self.0.len() < MOST && !self.0.iter().any(|known| known.message == hit.message) {
            self.0.push(hit);
        }
    }

    pub(crate) fn flag(&mut self, message: impl Into<String>, evidence: &str) {
        self.add(Action::Flag, message, evidence);
    }

    pub(crate) fn ask(&mut self, message: impl Into<String>, evidence: &str) {
        self.add(Action::Ask, message, evidence);
    }

    pub(crate) fn deny(&mut self, message: impl Into<String>, evidence: &str) {
        self.add(Action::Deny, message, evidence);
    }
}

/// A rule.
pub(crate) struct RuleSpec {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) severity: Severity,
    pub(crate) check: fn(&Context<'_>, &mut Hits),
}

/// All rules, the gravest first: the first denial gives the code.
pub(crate) const ALL: &[RuleSpec] = &[
    known_indicator::RULE,
    download_and_run::RULE,
    network_program::RULE,
    persistence::RULE,
    hidden_payload::RULE,
    obscured_command::RULE,
    metadata_endpoint::RULE,
    inline_code::RULE,
    loader_variable::RULE,
    program_location::RULE,
    package_source::RULE,
    package_lookalike::RULE,
    container_escape::RULE,
    tls_interception::RULE,
    endpoint::RULE,
    remote_program::RULE,
    server_name::RULE,
    entry_origin::RULE,
    entry_text::RULE,
    shell_syntax::RULE,
    malformed_entry::RULE,
    wide_access::RULE,
];

/// Returns the rules as the contract declares them.
pub(crate) fn declared() -> Vec<Rule> {
    ALL.iter().map(|rule| Rule::new(rule.id, rule.severity, rule.summary)).collect()
}

/// Judges an entry.
pub(crate) fn judge(entry: &Entry, settings: &Settings, tables: &Tables) -> Verdict {
    let context = Context {
        entry,
        tables,
        settings,
        behaviour: launch::behaviour(entry, tables),
        lower: entry.segments.iter().map(|segment| segment.text.to_lowercase()).collect(),
    };
    ALL.iter().fold(Verdict::allow(), |verdict, rule| {
        let set = settings.action(&entry.name, rule.id);
        if set == Some(Action::Off) {
            return verdict;
        }
        let mut hits = Hits::default();
        (rule.check)(&context, &mut hits);
        hits.0.into_iter().fold(verdict, |verdict, hit| verdict.join(answer(&context, rule, set, hit)))
    })
}

fn answer(context: &Context<'_>, rule: &RuleSpec, set: Option<Action>, hit: Hit) -> Verdict {
    let action = set.unwrap_or(hit.action);
    let severity = match action {
        Action::Deny => rule.severity,
        Action::Ask => rule.severity.min(Severity::High),
        Action::Flag | Action::Off => rule.severity.min(Severity::Medium),
    };
    let verdict = match action {
        Action::Deny => Verdict::deny(rule.id, hit.message.clone()),
        Action::Ask => {
            Verdict::ask(vec![Question::new(rule.id, hit.message.clone(), severity, ApproverClass::Operator)])
        }
        Action::Flag | Action::Off => Verdict::allow(),
    };
    let finding = Finding::new(rule.id, severity, hit.message);
    verdict.with_finding(match evidence(context, &hit.evidence) {
        Some(span) => finding.at(span),
        None => finding,
    })
}

/// Finds where a text stands; the command of an entry stands for what was put together from pieces.
fn evidence(context: &Context<'_>, text: &str) -> Option<portcullis_sdk::Span> {
    let segments = &context.entry.segments;
    let wanted = text.to_lowercase();
    let found = context.lower.iter().enumerate().find_map(|(index, lower)| {
        let start = lower.find(&wanted).filter(|_| !wanted.is_empty())?;
        let segment = segments.get(index)?;
        // Lowering can change lengths; then the whole segment is the evidence.
        let same = segment.text.len() == lower.len();
        Some(if same { segment.span(index, start..start + wanted.len()) } else { segment.whole(index) })
    });
    found.or_else(|| {
        let index = segments.iter().position(|segment| segment.pointer == "/command" && !segment.key)?;
        segments.get(index).map(|segment| segment.whole(index))
    })
}

//! The rules: one about each kind of answer, and one about none.

pub(crate) mod known_advisory;
pub(crate) mod malicious_package;
pub(crate) mod malicious_release;
pub(crate) mod no_answer;

use portcullis_sdk::{ApproverClass, Finding, Question, Rule, Severity, Verdict};

use crate::advisory::{self, Advisory};
use crate::network::Silence;
use crate::packages::{MOST, Package};
use crate::settings::{Reaction, Settings};

/// Pages of one answer that are read; a package with more advisories than they hold has been looked at enough.
const MOST_PAGES: usize = 4;

pub(crate) fn declared() -> Vec<Rule> {
    vec![malicious_package::rule(), malicious_release::rule(), known_advisory::rule(), no_answer::rule()]
}

/// Asks about each package, and joins what the answers lead to.
pub(crate) fn judge(
    packages: &[Package],
    settings: &Settings,
    post: &mut dyn FnMut(&str) -> Result<Vec<u8>, Silence>,
) -> Verdict {
    let mut verdict = Verdict::allow();
    for package in packages.iter().take(MOST) {
        verdict = verdict.join(match ask(package, post) {
            Ok(advisories) => about(package, &advisories, settings),
            Err(silence) => no_answer::judge(package, &silence, settings.silent),
        });
    }
    match packages.get(MOST) {
        Some(further) => verdict.join(no_answer::judge(further, &Silence::TooMany, settings.silent)),
        None => verdict,
    }
}

fn ask(package: &Package, post: &mut dyn FnMut(&str) -> Result<Vec<u8>, Silence>) -> Result<Vec<Advisory>, Silence> {
    let mut all = Vec::new();
    let mut page = None;
    for _ in 0..MOST_PAGES {
        let answer = post(&advisory::question(package, page.as_deref()))?;
        let read = advisory::read(&answer, package).ok_or(Silence::Unreadable)?;
        all.extend(read.advisories);
        page = read.next;
        if page.is_none() {
            break;
        }
    }
    Ok(all)
}

fn about(package: &Package, advisories: &[Advisory], settings: &Settings) -> Verdict {
    let ignored = |advisory: &&Advisory| {
        let mut names = std::iter::once(&advisory.id).chain(&advisory.aliases);
        !names.any(|name| settings.ignore.contains(name))
    };
    let counting: Vec<&Advisory> = advisories.iter().filter(ignored).collect();
    let (malicious, other): (Vec<_>, Vec<_>) = counting.into_iter().partition(|advisory| advisory.malicious);
    let (sure, perhaps): (Vec<_>, Vec<_>) =
        malicious.into_iter().partition(|advisory| package.version.is_some() || advisory.of_every_release);
    malicious_package::judge(package, &sure)
        .join(malicious_release::judge(package, &perhaps, settings.unpinned))
        .join(known_advisory::judge(package, &other, settings.advisories))
}

/// Does what an operator wants to be done.
fn react(reaction: Reaction, rule: &str, severity: Severity, message: String, question: String) -> Verdict {
    let verdict = match reaction {
        Reaction::Allow => return Verdict::allow(),
        Reaction::Flag => Verdict::allow(),
        Reaction::Ask => Verdict::ask(vec![Question::new(rule, question, severity, ApproverClass::Operator)]),
        Reaction::Deny => Verdict::deny(rule, message.clone()),
    };
    verdict.with_finding(Finding::new(rule, severity, message))
}

/// Returns a package as people write it.
fn shown(package: &Package) -> String {
    let version = package.version.as_ref().map(|version| ["@", version].concat()).unwrap_or_default();
    ["`", &package.name, &version, "` (", package.ecosystem.name(), ")"].concat()
}

/// Returns the ids of advisories: the first few, and how many more.
fn ids(advisories: &[&Advisory]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<&str> = advisories.iter().take(SHOWN).map(|advisory| advisory.id.as_str()).collect();
    let mut text = names.join(", ");
    if advisories.len() > SHOWN {
        let more = (advisories.len() - SHOWN).to_string();
        text.push_str(&[" and ", &more, " more"].concat());
    }
    text
}

#[cfg(test)]
mod tests;

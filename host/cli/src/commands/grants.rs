//! `portcullis grants`: approvals that are remembered, shown and taken back.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use portcullis_gates::{Grant, Grants as _, Journal as _};
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::GrantList as _;

use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, arguments, gateway};

/// Shows all grants of the home.
pub(crate) fn list(settings: &Settings, arguments: &arguments::Report) -> Result<Exit, Failure> {
    let store = settings.open_store(&arguments.config)?;
    let grants = store.all_grants().or_exit(Exit::State, "reading the grants")?;
    report::print(&Grants { grants, done: "kept" }, arguments.format)?;
    Ok(Exit::Success)
}

/// Takes grants back. Gateways look at each question anew, so they obey from their next call on, and judge again at once
/// what is published.
pub(crate) fn revoke(settings: &Settings, arguments: &arguments::Revoke) -> Result<Exit, Failure> {
    let store = settings.open_store(&arguments.report.config)?;
    let ids = if arguments.all {
        let grants = store.all_grants().or_exit(Exit::State, "reading the grants")?;
        grants.into_iter().map(|grant| grant.id).collect()
    } else {
        arguments.ids.clone()
    };
    let grants = store.remove(&ids).or_exit(Exit::State, "removing the grants")?;
    gateway::runtime()?.block_on(async {
        for grant in &grants {
            store.write(grant.revocation("terminal")).await.or_exit(Exit::State, "recording what was taken back")?;
        }
        #[cfg(unix)]
        crate::operator::Gateways::of(&settings.open_home()?)
            .or_exit(Exit::State, "opening the folder for approvals")?
            .rejudge()
            .await;
        Ok(())
    })?;
    let unknown = ids.iter().find(|id| !grants.iter().any(|grant| grant.id == **id)).cloned();
    report::print(&Grants { grants, done: "revoked" }, arguments.report.format)?;
    match unknown {
        Some(id) if !arguments.all => Err(Failure::new(Exit::Failed, format!("there is no grant `{}`", one_line(&id)))
            .hint("`portcullis grants list` shows all")),
        _ => Ok(Exit::Success),
    }
}

struct Grants {
    grants: Vec<Grant>,
    /// What is or was done with them.
    done: &'static str,
}

impl Report for Grants {
    fn to_value(&self) -> Value {
        object! { self.done => self.grants.iter().map(to_value).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} {}", count(self.grants.len(), "grant"), self.done)?;
        self.grants.iter().try_for_each(|grant| write_grant(grant, out))
    }
}

fn to_value(grant: &Grant) -> Value {
    let bound = &grant.bound;
    let mut object = object! {
        "id" => grant.id.as_str(),
        "allows" => grant.allows,
        "gate" => bound.gate.as_str(),
        "server" => bound.server.as_str(),
        "kind" => bound.kind.as_str(),
        "name" => bound.name.as_str(),
        "policy" => bound.policy.as_str(),
        "code" => bound.code.as_str(),
        "principal" => bound.principal.as_str(),
        "constraint" => grant.constraint.to_value(),
        "class" => grant.class.as_str(),
        "surface" => grant.surface.as_str(),
        "given_at" => seconds(grant.given_at),
        "expires_at" => seconds(grant.expires_at),
    };
    if let Some(definition) = bound.definition {
        object.insert("definition", definition.to_string());
    }
    if let Some(session) = &grant.session {
        object.insert("session", session.as_str());
    }
    object.into()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn write_grant(grant: &Grant, out: &mut dyn Write) -> io::Result<()> {
    let bound = &grant.bound;
    let word = if grant.allows { "allows" } else { "refuses" };
    write!(out, "  {} {word} {} {}", grant.id, bound.kind, one_line(&bound.server))?;
    if bound.name != bound.server {
        write!(out, " {}", one_line(&bound.name))?;
    }
    write!(out, ": {} ({}) for {}", bound.policy, bound.code, one_line(bound.principal.as_str()))?;
    if !grant.constraint.clauses().is_empty() {
        write!(out, ", where {}", one_line(&grant.constraint.to_string()))?;
    }
    let left = grant.expires_at.duration_since(SystemTime::now()).unwrap_or_default();
    write!(out, ", {} more", rough(left))?;
    if grant.session.is_some() {
        write!(out, " or to the end of its session")?;
    }
    writeln!(out, "; by {} ({})", grant.class.as_str(), one_line(&grant.surface))
}

/// Returns a duration in its largest unit.
pub(crate) fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (number, unit) = match seconds {
        0..=119 => (seconds, "second"),
        120..=7_199 => (seconds / 60, "minute"),
        7_200..=172_799 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    count(usize::try_from(number).unwrap_or(usize::MAX), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_told_in_its_largest_unit() {
        let told = [1, 119, 120, 7_200, 172_800].map(|seconds| rough(Duration::from_secs(seconds)));
        assert_eq!(told, ["1 second", "119 seconds", "2 minutes", "2 hours", "2 days"]);
    }
}

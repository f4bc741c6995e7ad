//! What a policy reaches besides its evaluation, and what it sees because of that.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{CapabilityGrants, ConfigSubject, EnvironmentSubject, Launch, Secret, ServerEntry, Subject};

use crate::http::Client;
use crate::inspect::{Capability, Inspection};
use crate::loader::LoadError;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Shorter values are words that stand elsewhere by chance; masking those would hide what the policy is to judge.
const SHORTEST_SECRET: usize = 6;

/// What was granted of what a module imports. A policy without imports that need a grant has nothing of it, whatever was
/// granted to its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    client: Option<Arc<Client>>,
    sees_secrets: bool,
    sees_payload: bool,
}

impl Access {
    /// Joins what a module imports and what was granted.
    pub(crate) fn granted(inspection: &Inspection, grants: &CapabilityGrants) -> Result<Self, LoadError> {
        if !inspection.capabilities.contains(&Capability::OutgoingHttp) {
            return Ok(Self::default());
        }
        let Some(http) = &grants.http else {
            let import = inspection.imports.iter().find(|import| import.starts_with("wasi:http/"));
            return Err(LoadError::NotGranted { import: import.cloned().unwrap_or_default() });
        };
        let client = Some(Arc::new(Client::new(http.clone())));
        Ok(Self { client, sees_secrets: grants.sees_secrets, sees_payload: grants.sees_payload })
    }

    /// Returns what requests are sent with.
    pub(crate) fn client(&self) -> Option<&Arc<Client>> {
        self.client.as_ref()
    }

    /// Returns true where an answer depends on more than subject and facts.
    pub(crate) fn is_outside(&self) -> bool {
        self.client.is_some()
    }

    /// Returns the wall time that waiting may take besides the budget.
    pub(crate) fn patience(&self) -> Duration {
        self.client.as_ref().map_or(Duration::ZERO, |client| client.grant().wall)
    }

    /// Returns true where documents and texts of a subject may be handed over.
    pub(crate) fn shows_payload(&self, subject: &Subject) -> bool {
        let entry = matches!(subject, Subject::Config(_) | Subject::Environment(_));
        // The document of an entry holds the secrets that are masked beside it.
        !self.is_outside() || (self.sees_payload && (self.sees_secrets || !entry))
    }

    /// Returns the subject as the policy may see it, where that is not as it is.
    pub(crate) fn masked(&self, subject: &Subject) -> Option<Subject> {
        if !self.is_outside() || self.sees_secrets {
            return None;
        }
        match subject {
            Subject::Config(subject) => Some(Subject::Config(without_secrets(subject))),
            Subject::Environment(subject) => Some(Subject::Environment(EnvironmentSubject {
                config: without_secrets(&subject.config),
                ..subject.clone()
            })),
            Subject::Listing(_) | Subject::Call(_) | Subject::Result(_) | Subject::Request(_) => None,
        }
    }
}

fn without_secrets(subject: &ConfigSubject) -> ConfigSubject {
    let entry = ServerEntry { launch: masked(subject.launch()), ..ServerEntry::clone(&subject.entry) };
    ConfigSubject { entry: Arc::new(entry), ..subject.clone() }
}

fn masked(launch: &Launch) -> Launch {
    let hidden = |values: &[(String, Secret)]| -> Vec<(String, Secret)> {
        values.iter().map(|(name, _)| (name.clone(), Secret::new(MASK))).collect()
    };
    let without = |text: &str, values: &[(String, Secret)]| {
        let secrets = values.iter().map(|(_, value)| value.expose()).filter(|value| value.len() >= SHORTEST_SECRET);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    };
    match launch {
        Launch::Stdio { command, arguments, working_directory, environment } => Launch::Stdio {
            command: without(command, environment),
            arguments: arguments.iter().map(|argument| without(&without_user(argument), environment)).collect(),
            working_directory: working_directory.clone(),
            environment: hidden(environment),
        },
        Launch::Http { url, headers, legacy_sse } => Launch::Http {
            url: without(&without_user(url), headers),
            headers: hidden(headers),
            legacy_sse: *legacy_sse,
        },
    }
}

/// Masks user and query of a URL: what is not in the environment and secret all the same stands there.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let rest = match rest.split_once('?') {
        Some((rest, _query)) => [rest, "?", MASK].concat(),
        None => rest.to_owned(),
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((_user, host)) => [scheme, "://", MASK, "@", host, path].concat(),
        None => [scheme, "://", authority, path].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_are_masked_wherever_they_stand() {
        let secret = ["hunter2", "hunter2"].concat();
        let launch = Launch::Stdio {
            command: "npx".to_owned(),
            arguments: vec![
                format!("--token={secret}"),
                format!("https://me:{secret}@host/path?key=1"),
                "on".to_owned(),
            ],
            working_directory: None,
            environment: vec![("TOKEN".to_owned(), Secret::new(&*secret)), ("DEBUG".to_owned(), Secret::new("on"))],
        };
        let Launch::Stdio { arguments, environment, .. } = masked(&launch) else { panic!("a process") };
        assert_eq!(arguments, ["--token=***", "https://***@host/path?***", "on"]);
        assert!(environment.iter().all(|(_, value)| value.expose() == MASK));
    }

    #[test]
    fn headers_and_the_user_of_an_endpoint_are_masked() {
        let headers = vec![("Authorization".to_owned(), Secret::new("Bearer abcdef"))];
        let launch = Launch::Http { url: "https://u:p@host".to_owned(), headers, legacy_sse: false };
        let Launch::Http { url, headers, .. } = masked(&launch) else { panic!("an endpoint") };
        assert_eq!((url.as_str(), headers[0].1.expose()), ("https://***@host", MASK));
    }
}

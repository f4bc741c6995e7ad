use portcullis_model::{ConfigSubject, EnvironmentSubject, Launch, Occasion, Origin, Platform, Secret};

use super::LEFT_OUT;
use crate::v0_1::generated::exports::portcullis::policy::environment_gate;
use crate::v0_1::generated::portcullis::policy::types;

/// A server entry with the lists that the guest's view borrows.
pub(crate) struct Entry<'a> {
    subject: &'a ConfigSubject,
    document: String,
    arguments: Vec<&'a str>,
    environment: Vec<types::Variable<'a>>,
    headers: Vec<types::Variable<'a>>,
    segments: Vec<types::Segment<'a>>,
}

fn variables(variables: &[(String, Secret)]) -> Vec<types::Variable<'_>> {
    variables.iter().map(|(name, value)| types::Variable { name, value: value.expose() }).collect()
}

impl<'a> Entry<'a> {
    pub(crate) fn new(subject: &'a ConfigSubject, payload: bool) -> Self {
        let (arguments, environment, headers) = match subject.launch() {
            Launch::Stdio { arguments, environment, .. } => {
                (arguments.iter().map(String::as_str).collect(), variables(environment), Vec::new())
            }
            Launch::Http { headers, .. } => (Vec::new(), Vec::new(), variables(headers)),
        };
        Self {
            subject,
            document: if payload { subject.entry.document.to_json() } else { LEFT_OUT.to_owned() },
            arguments,
            environment,
            headers,
            segments: if payload { super::segments(&subject.segments) } else { Vec::new() },
        }
    }

    pub(crate) fn view(&self) -> types::Entry<'_> {
        types::Entry {
            name: self.subject.entry.name.as_str(),
            launch: match self.subject.launch() {
                Launch::Stdio { command, working_directory, .. } => types::Launch::Stdio(types::Stdio {
                    command,
                    arguments: &self.arguments,
                    working_directory: working_directory.as_deref(),
                }),
                Launch::Http { url, .. } => types::Launch::Http(url),
            },
            environment: &self.environment,
            headers: &self.headers,
            origin: match self.subject.origin() {
                Origin::ConfigFile => types::Origin::ConfigFile,
                Origin::ClientConfig => types::Origin::ClientConfig,
                Origin::ProjectFile => types::Origin::ProjectFile,
                Origin::Catalog => types::Origin::Catalog,
                Origin::CommandLine => types::Origin::CommandLine,
            },
            occasion: match self.subject.occasion {
                Occasion::Save => types::Occasion::Save,
                Occasion::Import => types::Occasion::Import,
                Occasion::Install => types::Occasion::Install,
                Occasion::Probe => types::Occasion::Probe,
                Occasion::Start => types::Occasion::Start,
                Occasion::Connect => types::Occasion::Connect,
                Occasion::Rejudge => types::Occasion::Rejudge,
            },
            document: &self.document,
            segments: &self.segments,
        }
    }

    /// Returns the view of the environment gate, over what is offered.
    pub(crate) fn environment<'b>(
        &'b self,
        subject: &EnvironmentSubject,
        offered: &'b [environment_gate::Offered<'b>],
    ) -> environment_gate::Subject<'b> {
        environment_gate::Subject {
            entry: self.view(),
            platform: match subject.platform {
                Platform::Linux => environment_gate::Platform::Linux,
                Platform::MacOs => environment_gate::Platform::Macos,
                Platform::Windows => environment_gate::Platform::Windows,
            },
            offered,
        }
    }

    pub(crate) fn offers(subject: &EnvironmentSubject) -> Vec<environment_gate::Offered<'_>> {
        subject
            .offered
            .iter()
            .map(|offered| environment_gate::Offered { name: &offered.name, tagged: offered.tagged })
            .collect()
    }
}

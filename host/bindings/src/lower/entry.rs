use portcullis_model::{ConfigSubject, EnvironmentSubject, Launch, Occasion, Origin, Platform, Secret};

use super::LEFT_OUT;
use crate::generated::exports::portcullis::policy::config_gate::{self, Variable};
use crate::generated::exports::portcullis::policy::environment_gate;
use crate::generated::portcullis::policy::types;

/// A server entry with the lists that the guest's view borrows.
pub(crate) struct Entry<'a> {
    subject: &'a ConfigSubject,
    document: String,
    arguments: Vec<&'a str>,
    environment: Vec<Variable<'a>>,
    headers: Vec<Variable<'a>>,
    segments: Vec<types::Segment<'a>>,
}

fn variables(variables: &[(String, Secret)]) -> Vec<Variable<'_>> {
    variables.iter().map(|(name, value)| Variable { name, value: value.expose() }).collect()
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

    pub(crate) fn view(&self) -> config_gate::Entry<'_> {
        config_gate::Entry {
            name: self.subject.entry.name.as_str(),
            launch: match self.subject.launch() {
                Launch::Stdio { command, working_directory, .. } => config_gate::Launch::Stdio(config_gate::Stdio {
                    command,
                    arguments: &self.arguments,
                    working_directory: working_directory.as_deref(),
                }),
                Launch::Http { url, .. } => config_gate::Launch::Http(url),
            },
            environment: &self.environment,
            headers: &self.headers,
            origin: match self.subject.origin() {
                Origin::ConfigFile => config_gate::Origin::ConfigFile,
                Origin::ClientConfig => config_gate::Origin::ClientConfig,
                Origin::ProjectFile => config_gate::Origin::ProjectFile,
                Origin::Catalog => config_gate::Origin::Catalog,
                Origin::CommandLine => config_gate::Origin::CommandLine,
            },
            occasion: match self.subject.occasion {
                Occasion::Save => config_gate::Occasion::Save,
                Occasion::Import => config_gate::Occasion::Import,
                Occasion::Install => config_gate::Occasion::Install,
                Occasion::Probe => config_gate::Occasion::Probe,
                Occasion::Start => config_gate::Occasion::Start,
                Occasion::Connect => config_gate::Occasion::Connect,
                Occasion::Rejudge => config_gate::Occasion::Rejudge,
            },
            document: &self.document,
            segments: &self.segments,
        }
    }

    /// Returns the view of the environment gate, over the offers of [`offers`].
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

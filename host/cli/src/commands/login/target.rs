//! The server that is logged in at.

use std::sync::Arc;

use portcullis_config::{Authentication, Config, OAuthSettings, Server, ServerOptions};
use portcullis_mcp::transport::http::{Trusted, certificates};
use portcullis_model::Launch;
use portcullis_oauth::Web;
use url::Url;

use crate::arguments::ConfigFile;
use crate::failure::OrExit as _;
use crate::settings::Settings;
use crate::{Exit, Failure};

/// The server that is logged in at, with a config that has no other.
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) server: Server,
    pub(crate) url: Url,
    pub(crate) settings: OAuthSettings,
}

impl Target {
    /// Finds a server of the config.
    pub(crate) fn find(settings: &Settings, file: &ConfigFile, name: &str) -> Result<Self, Failure> {
        let (_, config) = settings.read_config(file)?;
        let Some(server) = config.server(name).cloned() else {
            let names: Vec<String> = config.servers.iter().map(|server| server.name().to_string()).collect();
            return Err(super::super::list::unknown(name, &names, &config));
        };
        Self::of(&config, server)?.ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{name}` is not logged in at by OAuth"))
                .hint("write `auth: oauth` into the entry of a server that has a `url`")
        })
    }

    /// Finds all servers of the config that want a login.
    pub(crate) fn all(settings: &Settings, file: &ConfigFile) -> Result<Vec<Self>, Failure> {
        let (_, config) = settings.read_config(file)?;
        let found = config.servers.iter().map(|server| Self::of(&config, server.clone()));
        found.filter_map(Result::transpose).collect()
    }

    fn of(config: &Config, server: Server) -> Result<Option<Self>, Failure> {
        let (Launch::Http { url, .. }, Authentication::OAuth(settings)) =
            (&server.entry.launch, &server.options.authentication)
        else {
            return Ok(None);
        };
        let url = Url::parse(url).or_exit(Exit::Config, format!("reading the URL of `{}`", server.name()))?;
        let settings = OAuthSettings::clone(settings);
        // Tried now, switched off or not.
        let options = ServerOptions { enabled: true, lazy: false, ..server.options.clone() };
        let server = Server { options, ..server };
        let config = Config { servers: vec![server.clone()], ..config.clone() };
        Ok(Some(Self { config, server, url, settings }))
    }

    /// Returns what asks the authorization server.
    pub(crate) async fn web(&self) -> Result<Web, Failure> {
        let options = &self.server.options;
        let trusted = Trusted::read(options.tls.clone(), options.client_identity.clone()).await;
        let trusted = trusted.or_exit(Exit::Config, format!("reading the certificates of `{}`", self.server.name()))?;
        Ok(Web::of(&self.url, self.settings.user_agent.as_deref(), certificates(Arc::new(trusted))).await)
    }
}

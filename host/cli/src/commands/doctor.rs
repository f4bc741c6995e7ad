//! `portcullis doctor`: what is wrong around the gateway, and how to mend it. Starts no server and changes nothing.

mod clients;
mod programs;

use std::io::{self, Write};

use portcullis_config::{Config, Level};
use portcullis_mcp::safe_mode;
use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::Home;

use crate::arguments;
use crate::failure::one_line;
use crate::policy_report::{self, PolicyLine};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, gateway, policies, secrets_file, stop};

/// Looks at everything that a gateway needs.
pub(crate) fn run(settings: &Settings, arguments: &arguments::Report) -> Result<Exit, Failure> {
    let mut examined = Examined::default();
    match settings.open_home() {
        Ok(home) => {
            examined.good("home", format!("{} is there, and for its owner alone", home.path().display()));
            examined.home(&home, settings, arguments);
        }
        Err(failure) => examined.failed("home", &failure),
    }
    let config = examined.config(settings, arguments);
    programs::examine(&config, &mut examined);
    clients::examine(&config, &mut examined);
    report::print(&examined, arguments.format)?;
    Ok(if examined.is_well() { Exit::Success } else { Exit::Failed })
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Good,
    /// Worth a look; nothing is broken.
    Odd,
    Bad,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Odd => "look",
            Self::Bad => "bad",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    what: &'static str,
    state: State,
    message: String,
    hint: Option<String>,
}

/// All that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Examined(Vec<Finding>);

impl Examined {
    pub(crate) fn good(&mut self, what: &'static str, message: impl Into<String>) {
        self.0.push(Finding { what, state: State::Good, message: message.into(), hint: None });
    }

    pub(crate) fn odd(&mut self, what: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Finding { what, state: State::Odd, message: message.into(), hint: Some(hint.into()) });
    }

    pub(crate) fn bad(&mut self, what: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Finding { what, state: State::Bad, message: message.into(), hint: Some(hint.into()) });
    }

    fn failed(&mut self, what: &'static str, failure: &Failure) {
        let text = failure.to_string();
        let (message, hint) =
            text.split_once("\nhint: ").map_or((text.as_str(), None), |(a, b)| (a, Some(b.to_owned())));
        let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
        self.0.push(Finding { what, state: State::Bad, message, hint });
    }

    fn is_well(&self) -> bool {
        self.0.iter().all(|finding| finding.state != State::Bad)
    }

    /// Looks at what the home holds: secrets, switches, database, policies, gateways.
    fn home(&mut self, home: &Home, settings: &Settings, arguments: &arguments::Report) {
        match secrets_file::read(home.path()) {
            Ok(variables) if variables.is_empty() => {}
            Ok(variables) => self.good("secrets", format!("secrets.yaml holds {}", count(variables.len(), "variable"))),
            Err(failure) => self.failed("secrets", &failure),
        }
        if stop::is_set(home) {
            self.odd(
                "switch",
                format!("every server is stopped by {}", stop::file(home).display()),
                "`portcullis resume`",
            );
        }
        if let Some(variable) = safe_mode(|name| std::env::var(name).ok()) {
            self.odd("switch", format!("`{variable}` is set: no server runs"), format!("unset {variable}"));
        }
        let config = settings.read_config(&arguments.config).map(|(_, config)| config).unwrap_or_default();
        let store = match gateway::open_store(home, &config.journal) {
            Ok(store) => store,
            Err(failure) => return self.failed("journal", &failure),
        };
        self.good("journal", "the database can be used");
        report::progress(report::LOADING, arguments.format);
        match policies::load(home, &config, &store) {
            Ok(store) => self.policies(&policy_report::lines(&store)),
            Err(failure) => self.failed("policies", &failure),
        }
        #[cfg(unix)]
        self.gateways(home);
    }

    fn policies(&mut self, lines: &[PolicyLine]) {
        let judging = lines.iter().filter(|line| matches!(line, PolicyLine::Known(_))).count();
        self.good("policies", format!("{} judge", count(judging, "policy").replace("policys", "policies")));
        for line in lines.iter().filter(|line| line.is_remarkable()) {
            let mut text = Vec::new();
            let _in_memory = line.write_remark(&mut text);
            let text = String::from_utf8_lossy(&text).trim_end().to_owned();
            match line {
                PolicyLine::Missing(..) | PolicyLine::Refused(..) => {
                    self.bad("policies", text, "`portcullis policy list` shows all, and where each comes from");
                }
                PolicyLine::Known(_) | PolicyLine::Concern(..) | PolicyLine::Unsigned => {
                    self.odd(
                        "policies",
                        text,
                        "`portcullis policy list` shows all, and `policies` in the config settles it",
                    );
                }
            }
        }
    }

    /// Looks for gateways that run and for sockets that nobody listens at. Those are left for gateways to remove.
    #[cfg(unix)]
    fn gateways(&mut self, home: &Home) {
        use crate::failure::OrExit as _;
        use crate::operator::{Connection, ConnectionError, Gateways};

        let asked = gateway::runtime().and_then(|runtime| {
            let sockets = Gateways::of(home).or_exit(Exit::State, "opening the folder of gateways")?.sockets();
            let sockets = sockets.or_exit(Exit::State, "looking for gateways")?;
            Ok(runtime.block_on(async {
                let (mut running, mut stale) = (0_usize, Vec::new());
                for path in sockets {
                    match Connection::open(&path).await {
                        Ok(_) => running += 1,
                        Err(ConnectionError::Gone) => stale.push(path.display().to_string()),
                        Err(_) => {}
                    }
                }
                (running, stale)
            }))
        });
        match asked {
            Ok((running, stale)) => {
                self.good("gateways", format!("{} of this home run", count(running, "gateway")));
                if !stale.is_empty() {
                    let sockets = stale.join(", ");
                    self.odd(
                        "gateways",
                        format!("sockets of gateways that ended: {sockets}"),
                        "`portcullis status` removes them",
                    );
                }
            }
            Err(failure) => self.failed("gateways", &failure),
        }
    }

    /// Looks at the config, and returns it as far as it can be read.
    fn config(&mut self, settings: &Settings, arguments: &arguments::Report) -> Config {
        let (path, config) = match settings.read_config(&arguments.config) {
            Ok(read) => read,
            Err(failure) => {
                self.failed("config", &failure);
                return Config::default();
            }
        };
        let of_level = |level| config.diagnostics.iter().filter(move |diagnostic| diagnostic.level == level);
        let (errors, warnings) = (of_level(Level::Error).count(), of_level(Level::Warning).count());
        let message = format!(
            "{}: {}, {}, {}",
            path.display(),
            count(config.servers.len(), "server"),
            count(errors, "error"),
            count(warnings, "warning")
        );
        match (errors, warnings) {
            (0, 0) => self.good("config", message),
            (0, _) => self.odd("config", message, "`portcullis check` shows each with its line"),
            (_, _) => self.bad("config", message, "`portcullis check` shows each with its line"),
        }
        config
    }
}

impl Report for Examined {
    fn to_value(&self) -> Value {
        let finding = |finding: &Finding| -> Value {
            let mut object = object! {
                "what" => finding.what, "state" => finding.state.as_str(), "message" => finding.message.as_str(),
            };
            if let Some(hint) = &finding.hint {
                object.insert("hint", hint.as_str());
            }
            object.into()
        };
        object! { "ok" => self.is_well(), "findings" => self.0.iter().map(finding).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for finding in &self.0 {
            writeln!(out, "{:<4} {:<9} {}", finding.state.as_str(), finding.what, one_line(&finding.message))?;
            if let Some(hint) = &finding.hint {
                writeln!(out, "               hint: {}", one_line(hint))?;
            }
        }
        Ok(())
    }
}
